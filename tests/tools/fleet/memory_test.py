"""Memory does not grow with the number of snapshots: memory_test.py HIGHWATER SOURCE

A folder of one recording under many names is scanned, whole, in shards and merged, with 50 names and with ten times as
many. What a recording takes while it is read is megabytes, and what stays of it a kilobyte or two.
"""
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM, SOURCE = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
RECORDING = SOURCE / "traces" / "recorded" / "fake" / "gpt2-fp32-emptycache.hwt.xz"
FEW, MANY = 50, 500
#: Of each snapshot more, that may stay: a row of a few hundred bytes, 48 shares of 16, its part of the answer.
STAYS = 8 << 10
#: By how much two runs of the same may differ: what malloc keeps of each thread.
NOISE = 4 << 20


def peak_bytes(*words):
    """The most that the program held, on one core."""
    done = subprocess.Popen([PROGRAM, *words], stdout=subprocess.DEVNULL,
                            preexec_fn=lambda: os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}))
    _, status, usage = os.wait4(done.pid, 0)
    done.returncode = os.waitstatus_to_exitcode(status)
    if done.returncode != 0:
        raise AssertionError(f"{words}: exit code {done.returncode}")
    return usage.ru_maxrss << 10


class Memory(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR"))
        self.addCleanup(self.folder.cleanup)

    def snapshots(self, count):
        folder = Path(self.folder.name) / str(count)
        folder.mkdir()
        original = folder / "rank0.hwt.xz"
        original.write_bytes(RECORDING.read_bytes())
        for rank in range(1, count):
            os.link(original, folder / f"rank{rank}.hwt.xz")
        return str(folder)

    def part(self, count, number):
        return str(Path(self.folder.name) / f"{count}-{number}")

    def test_ten_times_as_many(self):
        peaks = {}
        for count in (FEW, MANY):
            folder = self.snapshots(count)
            parts = [self.part(count, number) for number in (1, 2)]
            shards = [peak_bytes("scan", folder, "--shard", f"{number}/2", "--output", part)
                      for number, part in enumerate(parts, 1)]
            peaks[count] = {"whole": peak_bytes("scan", folder, "--format", "json"), "shard": max(shards),
                            "merge": peak_bytes("merge", *parts)}
        for what, few in peaks[FEW].items():
            with self.subTest(what=what):
                self.assertLess(peaks[MANY][what], few + (MANY - FEW) * STAYS + NOISE)
        print(*(f"{what}: {few >> 10} KB, {peaks[MANY][what] >> 10} KB" for what, few in peaks[FEW].items()), sep="\n")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
