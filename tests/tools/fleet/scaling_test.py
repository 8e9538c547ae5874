"""The model of tests/bench/fleet_scaling.py by hand, and its tables: scaling_test.py HIGHWATER SOURCE"""
import importlib.util
import json
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM, SOURCE = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
SCRIPT = SOURCE / "tests" / "bench" / "fleet_scaling.py"
SCAN = ["scan", "traces/recorded/zero3-ds19"]

spec = importlib.util.spec_from_file_location("fleet_scaling", SCRIPT)
assert spec and spec.loader
model = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = model
spec.loader.exec_module(model)

FREE = model.Costs(message=0, delivery=0, gap=0, around=0)


class Model(unittest.TestCase):
    def test_the_rules_are_the_program_s(self):
        sources = "".join((SOURCE / "tools" / "fleet" / name).read_text()
                          for name in ("crew_leader.cpp", "crew.cpp", "ordered_delivery.hpp", "patience.hpp"))
        for rule in (f"kSecondsAtOnce = {model.SECONDS_AT_ONCE}", f"kMostAtOnce = {model.MOST_AT_ONCE}",
                     f"kAnswerEvery{{{round(1000 * model.ANSWER_EVERY)}}}", f"kWindow = {model.WINDOW}", f"kLongest{{{round(1e6 * model.LONGEST_PAUSE)}}}",
                     "left / (4 * workers_.size())"):
            self.assertIn(rule, sources)

    def test_even_pieces_and_one_long_one(self):
        self.assertEqual(model.hand_out([1.0] * 8, 4, FREE).seconds, 2)
        self.assertEqual(model.hand_out([1, 1, 1, 5], 2, FREE).seconds, 6)  # 1 + 5 beside 1 + 1
        self.assertEqual(model.hand_out([1, 1, 1, 5], 2, FREE).idle, 4)
        self.assertEqual(model.threads([3, 1, 1, 1], 2, FREE).seconds, 3)

    def test_rank_0_is_the_bound(self):
        """A piece of 0.2 s comes back in one message and asks for the next in another."""
        costs = model.Costs(message=0.01, delivery=0.005, gap=0, around=0)
        told = model.hand_out([0.2] * 1000, 100, costs)
        self.assertAlmostEqual(told.seconds, 100 * 0.01 + 1000 * (2 * 0.01 + 0.005))
        self.assertAlmostEqual(told.leader, told.seconds)
        self.assertEqual(model.bound([0.2] * 1000, 100, told, costs), "rank 0's messages")

    def test_waiting_for_the_next_piece(self):
        costs = model.Costs(message=0, delivery=0, gap=0.5, around=2)
        self.assertAlmostEqual(model.hand_out([1.0] * 4, 1, costs).seconds, 2 + 4 * 1.5)

    def test_quick_pieces_go_out_together(self):
        self.assertEqual(model.batch_size(left=10000, ranks=5, done=100, seconds=0.1), 100)
        self.assertEqual(model.batch_size(left=100, ranks=5, done=100, seconds=0.1), 5)
        self.assertEqual(model.batch_size(left=100, ranks=5, done=0, seconds=0), 1)


class Program(unittest.TestCase):
    def times(self, *start):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "times"
            subprocess.run([*start, PROGRAM, *SCAN, "--piece-times", path], cwd=SOURCE, check=True, stdout=subprocess.DEVNULL)
            return [json.loads(line) for line in path.read_text().splitlines()]

    def test_each_piece_has_its_time(self):
        *pieces, whole = self.times()
        count = len(list((SOURCE / SCAN[1]).glob("*.hwt.xz")))
        self.assertEqual(sorted(each["piece"] for each in pieces), list(range(count)))
        self.assertEqual((whole["pieces"], whole["what"]), (count, "files"))
        self.assertGreater(min(each["seconds"] for each in pieces), 0)
        self.assertLessEqual(max(each["seconds"] for each in pieces), whole["seconds"])

    def test_under_mpirun(self):
        if shutil.which("mpirun") is None or not (PROGRAM.parent / "libhighwater_mpi.so").exists():
            self.skipTest("no mpirun, or built without MPI")
        *pieces, whole = self.times("mpirun", "--oversubscribe", "--allow-run-as-root", "-n", "3")
        self.assertEqual(whole["processes"], 3)
        self.assertEqual(sorted(each["piece"] for each in pieces), list(range(whole["pieces"])))
        self.assertLessEqual({each["rank"] for each in pieces}, {1, 2})
        self.assertGreaterEqual(whole["hand_outs"], len({each["rank"] for each in pieces}))
        self.assertGreater(whole["messages"], whole["hand_outs"])
        self.assertLess(whole["message_seconds"] + whole["delivery_seconds"], whole["seconds"])
        tables = subprocess.run([sys.executable, SCRIPT, PROGRAM, "--ranks", "2", "--model", "17,1025", "--pieces", "5000",
                                 "--", *SCAN], cwd=SOURCE, check=True, stdout=subprocess.PIPE, text=True).stdout
        rows = [re.split(r" *\| *", line)[1:-1] for line in tables.splitlines() if line.startswith("|")]
        self.assertEqual([row[0] for row in rows], ["processes", "---:", "1", "2", "ranks", "---:", "17", "1025"])
        self.assertGreater(float(rows[6][2]), float(rows[7][2]))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
