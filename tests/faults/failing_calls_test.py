"""Disks that fail: failing_calls_test.py HIGHWATER LIBRARY SOURCE_FOLDER [unittest arguments]

Each read, open, write, fsync and rename of some commands fails once (failing_calls.cpp). An error is told in a line
and by exit code 3 (2 where a name cannot be opened for writing), an output is whole or not there, and nothing else is
left; a call that was interrupted is made again.
"""
import errno
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HIGHWATER, LIBRARY, SOURCE = sys.argv[1], sys.argv[2], Path(sys.argv[3])
CALLS = ("read", "open", "write", "fsync", "rename")
OK, USAGE, BAD_INPUT = 0, 2, 3
MOST_TRIES = 6  # of one function in one command


def spread(count):
    """Numbers from 1 to `count`: the first, the last, and some between."""
    return sorted({1 + (count - 1) * i // (MOST_TRIES - 1) for i in range(MOST_TRIES)}) if count else []


class FailingCalls(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="highwater-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.inputs = self.folder / "inputs"
        self.inputs.mkdir()
        shutil.copy(SOURCE / "tests/data/reports/scan/rank0.trace", self.inputs)
        shutil.copy(SOURCE / "tests/data/reports/scan/rank1.trace", self.inputs)
        (self.inputs / "config.json").write_text('{"model_type": "gpt2", "n_layer": 1, "n_embd": 64, "n_head": 2}')
        (self.inputs / "snap.hwt.xz").write_bytes(
            (SOURCE / "traces/recorded/fake/gpt2-fp32-ckpt.hwt.xz").read_bytes())

    def run_with(self, arguments, call, number, error=0):
        """The run, its output if there is one, and how many calls there were."""
        outputs, counted = self.folder / "outputs", self.folder / "calls"
        shutil.rmtree(outputs, ignore_errors=True)
        outputs.mkdir()
        environment = {**os.environ, "LD_PRELOAD": LIBRARY, "HIGHWATER_FAIL_CALL": call, "HIGHWATER_FAIL_AT": str(number),
                       "HIGHWATER_FAIL_ERRNO": str(error), "HIGHWATER_CALLS": str(counted)}
        done = subprocess.run([HIGHWATER, *(each.replace("@", f"{self.inputs}/").replace("%", f"{outputs}/")
                                            for each in arguments)],
                              env=environment, capture_output=True, text=True, timeout=60)
        return done, {each.name: each.read_bytes() for each in outputs.iterdir()}, int(counted.read_text())

    def check(self, line):
        arguments = line.split()
        for call in CALLS:
            whole, files, count = self.run_with(arguments, call, 0)
            self.assertEqual(whole.returncode, OK, whole.stderr)
            if call in ("write", "fsync", "rename") and files:
                self.assertGreater(count, 0, f"{line}: {call} is not counted")
            for number in spread(count):
                for error in (errno.EIO, errno.ENOSPC) if call == "write" else (errno.EIO,):
                    with self.subTest(line=line, call=call, number=number, error=error):
                        self.check_failure(arguments, call, number, error, whole, files)
                if call in ("read", "write"):
                    with self.subTest(line=line, call=call, number=number, error="EINTR"):
                        again, same, _ = self.run_with(arguments, call, number, errno.EINTR)
                        self.assertEqual((again.returncode, again.stdout, same), (OK, whole.stdout, files), again.stderr)

    def check_failure(self, arguments, call, number, error, whole, files):
        failed, left, _ = self.run_with(arguments, call, number, error)
        self.assertIn(failed.returncode, (OK, USAGE, BAD_INPUT), failed.stderr)
        for name, content in left.items():
            self.assertEqual(content, files.get(name), name)
        if failed.returncode == OK:  # of a file that it can do without
            self.assertIn(call, ("open", "read"))
            self.assertEqual((failed.stdout, left), (whole.stdout, files))
        else:
            self.assertIn(os.strerror(error), failed.stderr + failed.stdout)

    def test_replay(self):
        self.check("replay @rank0.trace --format json")
        self.check("replay @snap.hwt.xz")

    def test_simulate(self):
        self.check("simulate --engine model --model @config.json --seq 16")

    def test_outputs(self):
        self.check("export @snap.hwt.xz --to csv --output %o.csv")
        self.check("report @rank0.trace --output %o.html")
        self.check("convert @rank0.trace %o.hwt.xz")
        self.check("check @rank0.trace --accept --baseline %base.json --junit %junit.xml")

    def test_journals_and_parts(self):
        self.check("sweep @rank0.trace --set expandable_segments=False,True --shard 1/1 --output %part")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
