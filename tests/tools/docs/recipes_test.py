"""The recipes of tools/docs/fleet.md are run as they stand there: recipes_test.py HIGHWATER

Each is a line, or a file of Kubernetes, that is found in the page by how it begins; `snapshots/` is a folder of small
traces. What a cluster would set for each of its tasks is set here, one task after another.
"""
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "tools" / "docs" / "fleet.md").read_text(encoding="utf-8")
PROGRAM = ""
#: Two blocks that one line of a script made.
TRACE = "frame 0 10 train.py\tstep\nstack 0 0\na w 104857600 0 parameter @0\na x 41943040 0 activation @0\nf x\n"
RANKS = 9


def lines(beginning):
    """Lines of code that begin so, with those that a backslash continues."""
    return re.findall(rf"^    ({re.escape(beginning)}(?:[^\n]*\\\n)*[^\n]*)$", PAGE, re.MULTILINE)


def line(beginning):
    found = lines(beginning)
    assert len(found) == 1, f"{beginning}: {len(found)} lines in the page"
    return found[0]


class Recipes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "snapshots").mkdir()
        (self.folder / "bin").mkdir()
        for rank in range(RANKS):
            (self.folder / "snapshots" / f"rank{rank}.trace").write_text(TRACE)
        (self.folder / "bin" / "highwater").symlink_to(PROGRAM)
        self.whole = self.shell("highwater scan snapshots/")

    def shell(self, text, **variables):
        path = f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(["sh", "-euc", text], cwd=self.folder, env={**os.environ, "PATH": path, **variables},
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 0, f"{text}: {done.stderr}")
        return done.stdout

    def merged(self, count):
        return self.shell("highwater merge " + " ".join(f"part-{number}" for number in range(1, count + 1)))

    def test_xargs(self):
        self.shell(line("seq 4 | xargs"))
        self.assertEqual(self.shell(line("highwater merge part-1")), self.whole)

    def test_slurm(self):
        words = shlex.split(line("sbatch --array"))
        first, last = map(int, words[1].removeprefix("--array=").split("-"))
        self.assertEqual(first, 1)
        for number in range(first, last + 1):
            self.shell(words[words.index("--wrap") + 1], SLURM_ARRAY_TASK_ID=str(number))
        self.assertEqual(self.merged(last), self.whole)

    def test_kubernetes(self):
        job = re.search(r"^    apiVersion: batch/v1\n(?:    .*\n|\n)*", PAGE, re.MULTILINE)[0]
        count = int(re.search(r"completions: (\d+)", job)[1])
        command = re.search(r'command: \["sh", "-c", "(.*)"\]', job)[1]
        self.assertIn("completionMode: Indexed", job)
        (self.folder / "data").mkdir()
        (self.folder / "data" / "snapshots").symlink_to(self.folder / "snapshots")
        for index in range(count):
            self.shell(command.replace("/data", str(self.folder / "data")), JOB_COMPLETION_INDEX=str(index))
        parts = " ".join(str(self.folder / "data" / f"part-{number}") for number in range(1, count + 1))
        self.assertEqual(self.shell(f"highwater merge {parts}"), self.whole)

    def test_one_machine(self):
        """The first commands of the page, and the database's question."""
        resumed = line("highwater scan snapshots/ --format json --journal")
        self.shell(resumed)
        before = (self.folder / "scan.json").read_text()
        self.shell(resumed)
        self.assertEqual((self.folder / "scan.json").read_text(), before)
        self.shell(line("highwater scan snapshots/ --html"))
        self.assertIn("<svg", (self.folder / "ranks.html").read_text())
        self.shell("tar -cf snapshots.tar snapshots && zstd -q snapshots.tar -o snapshots.tar.zst")
        self.shell(line("highwater scan snapshots.tar.zst"))
        self.assertEqual(len((self.folder / "ranks.jsonl").read_text().splitlines()), RANKS)
        if shutil.which("sqlite3"):
            self.assertEqual(self.shell(line("sqlite3 ranks.db")).splitlines()[:RANKS],
                             [f"{rank}|train.py:10 step|146800640" for rank in range(RANKS)])

    def test_mpirun(self):
        if shutil.which("mpirun") is None or not Path(PROGRAM).with_name("libhighwater_mpi.so").exists():
            self.skipTest("no mpirun, or built without MPI")
        for each in lines("mpirun -n 65 "):
            few = each.replace("-n 65", "--oversubscribe --allow-run-as-root -n 3").replace("build/release/highwater", PROGRAM)
            self.shell(few)
            self.assertEqual((self.folder / "scan.json").read_text(), self.shell("highwater scan snapshots/ --format json"))


if __name__ == "__main__":
    PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
