"""The pieces of commands as tasks of Python: tasks_test.py PACKAGE_FOLDER HIGHWATER [pool|ray]

What is merged has the bytes of the program run once, whoever carried the tasks out: processes, threads, or Ray.
"""
import concurrent.futures
import json
import multiprocessing
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import threading
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[4]
PACKAGE, HIGHWATER = (str(pathlib.Path(each).resolve()) for each in sys.argv[1:3])
sys.path.insert(0, PACKAGE)
os.environ["PYTHONPATH"] = os.pathsep.join([PACKAGE, *filter(None, [os.environ.get("PYTHONPATH")])])  # for workers

import highwater as hw  # noqa: E402

SKIPPED = 4
SCANNED = "traces/recorded/zero3-ds19"
FILE = "traces/recorded/fake/gpt2-fp32-varlen-capacity2700.hwt.xz"
#: The command, its source, its keywords, and the same as words.
QUESTIONS = [
    ("scan", SCANNED, {}, ["scan", SCANNED]),
    ("sweep", FILE, {"set": {"expandable_segments": [False, True], "capacity": ["100MiB", "2GiB", "30GiB"]}, "top": 3},
     ["sweep", FILE, "--set", "expandable_segments=False,True", "--set", "capacity=100MiB,2GiB,30GiB", "--top", "3"]),
    ("sweep", None, {"model": "gpt2", "seq": 64, "gpu": "3GiB", "set": {"batch": [1, 64], "tp": [1, 5]}},
     ["sweep", "--model", "gpt2", "--seq", "64", "--gpu", "3GiB", "--set", "batch=1,64", "--set", "tp=1,5"]),
    ("simulate", None, {"model": "gpt2", "batch": 2, "seq": 128, "dp": 2, "pp": 2, "dp_kind": "ddp", "rank": "all"},
     "simulate --model gpt2 --batch 2 --seq 128 --dp 2 --pp 2 --dp-kind ddp --rank all".split()),
    ("validate", None, {"recorded": SCANNED, "only": "*nvme*"}, ["validate", "--recorded", SCANNED, "--only", "*nvme*"]),
    ("validate", None, {"only": "model=gpt2 batch=1"}, ["validate", "--only", "model=gpt2 batch=1"]),
]


def program(*words):
    return subprocess.run([HIGHWATER, *words], cwd=ROOT, text=True, stdout=subprocess.PIPE, check=True).stdout


def tasks_of(command, source, options, pieces=3):
    return hw.tasks(command, *(() if source is None else (source,)), pieces=pieces, **options)


class Same(unittest.TestCase):
    """`carried_out` gives the parts of tasks, in any order."""

    def carried_out(self, tasks):
        return reversed([task.run() for task in tasks])

    def check(self, command, source, options, line):
        answer = hw.merge(self.carried_out(tasks_of(command, source, options)))
        self.assertEqual(answer.to_dict(), json.loads(program(*line, "--format", "json")))
        self.assertEqual(str(answer), program(*line))

    def test_all_commands(self):
        for command, source, options, line in QUESTIONS:
            with self.subTest(command=command, source=source):
                self.check(command, source, options, line)


class Processes(Same):
    """The example of the documents, with processes that share nothing with this one."""

    def carried_out(self, tasks):
        with concurrent.futures.ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
            return list(pool.map(hw.Task.run, tasks))


class Threads(Same):
    def carried_out(self, tasks):
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            return list(pool.map(hw.Task.run, tasks))


class OnRay(Same):
    """The example of the documents."""

    @classmethod
    def setUpClass(cls):
        import ray

        os.environ.setdefault("RAY_AUTH_MODE", "disabled")  # it would write a token into the user's home
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)

    @classmethod
    def tearDownClass(cls):
        import ray

        ray.shutdown()

    def carried_out(self, tasks):
        import ray

        run = ray.remote(hw.Task.run)
        return ray.get([run.remote(task) for task in tasks])

    def test_an_error_of_a_task(self):
        with self.assertRaises(hw.InputError) as caught:
            list(self.carried_out(hw.tasks("scan", "/no/such/folder", pieces=2)))
        self.assertIn("does not exist", str(caught.exception))


class Whole(unittest.TestCase):
    """The functions that ask for all of it."""

    def test_scan(self):
        answer = hw.scan(SCANNED)
        self.assertEqual(answer.to_dict(), json.loads(program("scan", SCANNED, "--format", "json")))
        self.assertEqual([row.file for row in answer.rows], [row["file"] for row in answer.to_dict()["rows"]])
        self.assertEqual(str(answer), program("scan", SCANNED))

    def test_sweep_and_validate(self):
        _, _, options, line = QUESTIONS[2]
        self.assertEqual(hw.sweep(**options).to_dict(), json.loads(program(*line, "--format", "json")))
        for _, _, options, line in QUESTIONS[4:]:
            self.assertEqual(hw.validate(**options).to_dict(), json.loads(program(*line, "--format", "json")))


class Parts(unittest.TestCase):
    def test_tasks_and_parts_are_values(self):
        tasks = hw.tasks("scan", SCANNED, pieces=3)
        self.assertEqual([(task.number, task.count) for task in tasks], [(1, 3), (2, 3), (3, 3)])
        self.assertEqual(pickle.loads(pickle.dumps(tasks)), tasks)
        with self.assertRaises(AttributeError):
            tasks[0].number = 2
        part = tasks[0].run()
        self.assertEqual(pickle.loads(pickle.dumps(part)), part)

    def test_the_program_merges_them(self):
        with tempfile.TemporaryDirectory() as folder:
            paths = [os.path.join(folder, str(task.number)) for task in hw.tasks("scan", SCANNED, pieces=2)]
            for task, path in zip(hw.tasks("scan", SCANNED, pieces=2), paths):
                task.run().save(path)
            self.assertEqual(program("merge", *paths), program("scan", SCANNED, "--format", "json"))

    def test_more_tasks_than_work(self):
        whole = hw.scan(SCANNED)
        answer = hw.merge(task.run() for task in hw.tasks("scan", SCANNED, pieces=len(whole.rows) + 5))
        self.assertEqual(answer.to_dict(), whole.to_dict())

    def test_a_task_uses_as_many_threads_as_it_is_given(self):
        def most_threads(given):
            counts, over = [0], threading.Event()
            watcher = threading.Thread(target=lambda: [counts.append(len(os.listdir("/proc/self/task")))
                                                       for _ in iter(lambda: over.wait(0.001), True)])
            watcher.start()
            hw.tasks("scan", "traces/recorded/fake", pieces=8)[0].run(*given)
            over.set()
            watcher.join()
            return max(counts)

        alone = most_threads(())
        self.assertEqual(most_threads((1,)), alone)
        self.assertEqual(most_threads((3,)), alone + 2)

    def test_what_is_wrong_is_named(self):
        one, two = hw.tasks("scan", SCANNED, pieces=2)
        other = hw.tasks("scan", "traces/recorded/fake", pieces=2)[1]
        for parts, said in (([one.run()], "shard 2/2 is missing"), ([one.run(), one.run()], "is shard 1/2, and so is"),
                            ([one.run(), other.run()], "is of another command"), ([hw.Part(b"text")], "holds no results"),
                            ([one.run(), hw.Part(two.run().data[:-1])], "is cut short")):
            with self.subTest(said=said), self.assertRaises(hw.InputError) as caught:
                hw.merge(parts)
            self.assertIn(said, str(caught.exception))
        for wrong, said in ((lambda: hw.tasks("replay", FILE, pieces=2), "use one of"),
                            (lambda: hw.tasks("scan", SCANNED, pieces=0), "use 1 to 1000000"),
                            (lambda: hw.tasks("scan", SCANNED, pieces=2, journal="kept"), "omit it"),
                            (lambda: hw.tasks("sweep", b"bytes", pieces=2), "save it as a file")):
            with self.subTest(said=said), self.assertRaises(hw.InputError) as caught:
                wrong()
            self.assertIn(said, str(caught.exception))


def main():
    os.chdir(ROOT)  # names of files are those of the program's run
    if sys.argv[3:] == ["ray"]:
        try:
            import ray  # noqa: F401
        except ImportError:
            print("skipped: ray is not installed; put the folder of pip install --target FOLDER ray on PYTHONPATH")
            return SKIPPED
        names = ["OnRay"]
    else:
        names = [name for name in ("Same", "Processes", "Threads", "Whole", "Parts")]
    suite = unittest.TestSuite(unittest.defaultTestLoader.loadTestsFromTestCase(globals()[name]) for name in names)
    return 0 if unittest.TextTestRunner().run(suite).wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
