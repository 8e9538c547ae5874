"""The module `highwater` against the program: module_test.py PACKAGE_FOLDER HIGHWATER SHARED_DATA

Every number of the module is the program's; errors are exceptions; nothing is printed, and no memory is
kept.
"""
import copy
import io
import json
import os
import pathlib
import pickle
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[4]
PACKAGE, HIGHWATER, SHARED = (pathlib.Path(each) for each in sys.argv[1:4])
sys.path.insert(0, str(PACKAGE))

import highwater as hw  # noqa: E402
from highwater._parameters import Parameter, Parameters  # noqa: E402

RECORDED = ROOT / "traces" / "recorded" / "fake"
OUT_OF_MEMORY = str(RECORDED / "gpt2-fp32-varlen-capacity2700.hwt.xz")
LONG = str(RECORDED / "long-llama-1b-default.hwt.xz")
DATA = ROOT / "tests" / "data" / "profiler"
PLANS = [
    {"model": "gpt2"},
    {"model": "gpt2", "batch": 4, "seq": 512, "gpu": "h100-80"},
    {"model": "gpt2", "batch": 2, "seq": [128, 256], "grad_accum": 2},
    {"model": "gpt2", "seq": 512, "gpu": "h100-80", "find_batch": True},
    {"model": "gpt2", "batch": 8, "seq": 1024, "gpu": "4GiB"},
    {"model": "gpt2-medium", "seq": 256, "checkpoint": "full", "precision": "bf16"},
    {"model": "opt-125m", "seq": 256, "optimizer": "sgd"},
    {"model": "bloom-560m", "seq": 128, "precision": "amp-bf16"},
    {"model": "t5-small", "seq": 128},
    {"model": "llama-3.2-1b", "seq": 256, "precision": "bf16", "lora": 8},
    {"model": "llama-3.2-1b", "seq": 256, "precision": "bf16", "dp": 4, "dp_kind": "fsdp2"},
    {"model": "llama-3.2-1b", "seq": 256, "precision": "bf16", "dp": 2, "dp_kind": "ddp", "use_cache": False},
    {"model": "gpt2", "framework": "deepspeed", "dp": 2, "dp_kind": "zero2", "precision": "bf16"},
    {"model": "gpt2", "framework": "deepspeed", "dp": 2, "dp_kind": "zero3", "precision": "bf16"},
    {"model": "llama-3.2-1b", "framework": "megatron", "seq": 512, "tp": 2, "sp": True},
    {"model": "gpt2", "framework": "trainer", "seq": 128},
    {"model": "gpt2", "alloc_conf": "expandable_segments:True", "capacity": "8GiB"},
    {"model": "gpt2", "torch": "2.6", "transformers": "5.12", "framework": "torch"},
    {"model": "gpt2", "attention": "eager", "attention_mask": True, "keep_logits": False},
    {"model": "gpt2", "mode": "eval", "steps": 2},
]


def snapshots():
    shared = sorted((SHARED / "snapshots").glob("*.pickle.xz"))
    return [str(each) for each in shared] or [OUT_OF_MEMORY, LONG]


def program(*words):
    run = subprocess.run([HIGHWATER, *words], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return run.stdout, run.stderr, run.returncode


def program_json(*words):
    return json.loads(program(*words, "--format", "json")[0])


def words_of(options):
    words = []
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        if value is True and option in ("--find-batch",):
            words.append(option)
        elif isinstance(value, bool):
            words.append(f"{option}={str(value).lower()}")
        elif isinstance(value, list):
            words += [option, ",".join(map(str, value))]
        else:
            words += [option, str(value)]
    return words


def small_snapshot():
    """As torch.cuda.memory._snapshot() returns it: one block, allocated and freed."""
    entries = [{"action": "segment_alloc", "addr": 4096, "size": 2097152, "stream": 0},
               {"action": "alloc", "addr": 4096, "size": 1000, "stream": 0},
               {"action": "free_requested", "addr": 4096, "size": 1000, "stream": 0},
               {"action": "free_completed", "addr": 4096, "size": 1000, "stream": 0}]
    segment = {"device": 0, "address": 4096, "total_size": 2097152, "allocated_size": 0, "active_size": 0,
               "stream": 0, "segment_type": "small", "segment_pool_id": (0, 0), "is_expandable": False,
               "blocks": [{"address": 4096, "size": 2097152, "requested_size": 0, "state": "inactive"}]}
    return {"segments": [segment], "device_traces": [entries], "allocator_settings": {}}


class Numbers(unittest.TestCase):
    """Everything is as in the program's JSON."""

    def test_recordings(self):
        for path in snapshots():
            for command in ("replay", "info", "explain"):
                with self.subTest(path=path, command=command):
                    answer = getattr(hw.load(path), command)()
                    self.assertEqual(answer.to_dict(), program_json(command, path))

    def test_plans(self):
        self.assertEqual(len(PLANS), 20)
        for options in PLANS:
            with self.subTest(options=options):
                self.assertEqual(hw.simulate(**options).to_dict(), program_json("simulate", *words_of(options)))

    def test_other_commands(self):
        self.assertEqual(hw.load(OUT_OF_MEMORY).advise().to_dict(), program_json("advise", OUT_OF_MEMORY))
        vector = str(ROOT / "tests/data/conformance/h07_oom_retry.trace")
        reduced = hw.load(vector).reduce(keep="oom", script=os.devnull)
        self.assertEqual(reduced.to_dict(), program_json("reduce", vector, "--keep", "oom", "--script", os.devnull))
        graphs = str(ROOT / "traces/recorded/edits/captures-none-torch2.15.hwt.xz")
        self.assertEqual(hw.load(graphs).captures(arrange="pools=1+2/3+4").to_dict(),
                         program_json("captures", graphs, "--arrange", "pools=1+2/3+4"))
        turns = str(ROOT / "tests/data/phases/turns.toml")
        self.assertEqual(hw.phases(turns, cycles=2).to_dict(), program_json("phases", turns, "--cycles", "2"))
        self.assertEqual(hw.models("gpt2").to_dict(), program_json("models", "gpt2"))
        self.assertEqual(hw.models().to_dict(), program_json("models"))
        self.assertEqual(hw.estimate(model="gpt2").to_dict(), program_json("estimate", "--model", "gpt2"))
        plan = {"model": "gpt2", "seq": 512, "gpu": "v100-16", "gpus": 2}
        self.assertEqual(hw.plan(**plan).to_dict(), program_json("plan", *words_of(plan)))
        sweep = hw.load(OUT_OF_MEMORY).sweep(set={"expandable_segments": [False, True], "capacity": ["2GiB", "4GiB"]})
        self.assertEqual(sweep.to_dict(), program_json(
            "sweep", OUT_OF_MEMORY, "--set", "expandable_segments=False,True", "--set", "capacity=2GiB,4GiB"))
        other = str(RECORDED / "gpt2-fp32-varlen-expandable-limit2700.hwt.xz")
        self.assertEqual(hw.load(OUT_OF_MEMORY).diff(other).to_dict(), program_json("diff", OUT_OF_MEMORY, other))

    def test_fields_are_the_keys(self):
        replay = hw.load(OUT_OF_MEMORY).replay()
        data = replay.to_dict()
        self.assertEqual(replay.devices[0].peak.reserved_bytes, data["devices"][0]["peak"]["reserved_bytes"])
        self.assertEqual(replay.devices[0].ooms[0].pools[0].pool, "small")
        explain = hw.load(OUT_OF_MEMORY).explain()
        self.assertEqual(explain.devices[0].cause, "fragmentation")
        self.assertEqual(explain.devices[0].bounds.own.ran_out, True)
        with self.assertRaises(AttributeError):
            replay.schema = "mine"

    def test_a_plan_is_solved_for_its_fields(self):
        solved = hw.solve(["seq:128", "batch"], model="gpt2", precision="bf16", gpu="4GiB")
        self.assertEqual([field.field for field in solved.fields], ["seq", "batch"])
        seq = solved.fields[0].answer
        self.assertTrue(hw.simulate(model="gpt2", precision="bf16", gpu="4GiB", seq=seq).fits)
        self.assertEqual(list(solved.plan["seq"]), [seq])
        frontier = hw.solve(model="gpt2", seq=128, frontier="checkpoint").frontier
        self.assertEqual(min(frontier, key=lambda row: row.recomputation).checkpoint, "none")

    def test_table_and_pictures(self):
        replay = hw.load(OUT_OF_MEMORY).replay(alloc_conf="expandable_segments:True")
        text, _, _ = program("replay", OUT_OF_MEMORY, "--alloc-conf", "expandable_segments:True")
        self.assertEqual(str(replay), text)
        self.assertIn("<iframe", replay._repr_html_())
        found = hw.simulate(model="gpt2", seq=256, gpu="4GiB", find_batch=True)
        self.assertGreater(found.find_batch.largest, 1)
        self.assertIn(f"batch {found.find_batch.largest}, ", found._repr_html_())
        page, _, _ = program("report", OUT_OF_MEMORY, "--output", "-")
        self.assertEqual(hw.load(OUT_OF_MEMORY).report().html, page)


class Programs(unittest.TestCase):
    FITTED = {str(ROOT / "traces" / "recorded" / "scaling" / f"gpt2_loop-{batch}-{seq}.hwt.xz"): {"batch": batch, "seq": seq}
              for batch, seq in ((2, 256), (4, 256), (2, 512), (4, 768))}
    LARGE = str(ROOT / "traces" / "recorded" / "scaling" / "gpt2_loop-16-512.hwt.xz")

    def test_fit_gives_the_peaks_of_a_larger_recording(self):
        recorded = hw.load(self.LARGE).replay().devices[0].peak.to_dict()
        for recordings in (self.FITTED, list(self.FITTED)):
            fitted = hw.fit(recordings)
            self.assertEqual(fitted.simulate(batch=16, seq=512).peak.to_dict(), recorded)
            self.assertEqual(fitted.at(batch=16, seq=512).replay().devices[0].peak.to_dict(), recorded)

    def test_a_saved_program_is_the_command_line_s(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "run.hwp")
            fitted = hw.fit(self.FITTED)
            fitted.save(path)
            line = ("simulate", "--from", path, "--seq", "512", "--capacity", "8GiB", "--find-batch")
            said = fitted.simulate(seq=512, capacity="8GiB", find_batch=True).to_dict()
            self.assertEqual(said, program_json(*line))


class Inputs(unittest.TestCase):
    def test_a_snapshot_in_memory(self):
        for source in (small_snapshot(), pickle.dumps(small_snapshot())):
            device = hw.load(source).replay().devices[0]
            self.assertEqual(device.peak.requested_bytes, 1000)
            self.assertEqual(device.peak.allocated_bytes, 1024)

    def test_compressed_bytes(self):
        with open(OUT_OF_MEMORY, "rb") as file:
            held = hw.load(file.read())
        self.assertEqual(held.replay().to_dict(), hw.load(OUT_OF_MEMORY).replay().to_dict())

    def test_json_and_profiler_of_one_run(self):
        """PyTorch 2.15 on the fake GPU: as the process itself counted them."""
        for kind in ("snapshot", "trace"):
            with self.subTest(kind=kind):
                peak = hw.load(DATA / f"linear.{kind}.json.xz").replay().devices[0].peak
                self.assertEqual((peak.allocated_bytes, peak.reserved_bytes), (134395392, 161480704))
        self.assertIn("profiler's trace", str(hw.load(DATA / "linear.trace.json.xz").replay()))

    def test_export(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "other.pickle"
            hw.load(small_snapshot()).export(path)
            self.assertTrue(path.exists())
            before = path.read_bytes()
            for write in (hw.load(path).export, hw.load(path).report().save):
                with self.assertRaises(hw.UsageError):
                    write(path)
                self.assertEqual(path.read_bytes(), before)

    def test_a_limit_on_the_size_of_files_is_an_error(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "other.pickle"
            before = resource.getrlimit(resource.RLIMIT_FSIZE)
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
            try:
                with self.assertRaisesRegex(hw.InputError, "File too large; raise the limit"):
                    hw.load(small_snapshot()).export(path)
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, before)
            self.assertEqual(list(path.parent.iterdir()), [])


class Errors(unittest.TestCase):
    def test_parts(self):
        with self.assertRaises(hw.InputError) as caught:
            hw.load("/no/such/file").replay()
        error = caught.exception
        self.assertEqual((error.source, error.where, error.what, error.try_),
                         ("/no/such/file", "", "does not exist", "check the path"))
        self.assertEqual(str(error), program("replay", "/no/such/file")[1].strip().removeprefix("highwater: "))
        self.assertEqual(str(pickle.loads(pickle.dumps(error))), str(error))

    def test_all_that_is_wrong_with_options(self):
        with self.assertRaises(hw.UsageError) as caught:
            hw.simulate(model="gpt2", seq=-1, capacity="80 Gigs")
        self.assertGreater(len(caught.exception.problems), 1)
        self.assertIsInstance(caught.exception, hw.InputError)
        with self.assertRaises(hw.UsageError):
            hw.load(LONG).replay(no_such_option=1)

    def test_unknown_keywords_name_the_nearest(self):
        for ask, meant in ((lambda: hw.simulate(model="gpt2", bacth=3), "--batch"),
                           (lambda: hw.estimate(model="gpt2", gpus_pernode=3), "--gpus-per-node"),
                           (lambda: hw.plan(model="gpt2", gpuss=3), "--gpus"),
                           (lambda: hw.load(LONG).replay(capacty=3), "--capacity")):
            with self.subTest(meant=meant), self.assertRaises(hw.InputError) as caught:
                ask()
            self.assertEqual(caught.exception.try_, f"did you mean {meant}?")

    def test_no_name_is_an_option(self):
        with self.assertRaises(hw.InputError) as caught:
            hw.load("--help").replay()
        self.assertIn("does not exist", str(caught.exception))

    def test_hostile_bytes(self):
        for data in (b"", b"\x80", b"\x80\x04K", b"PK\x03\x04", b"\xfd7zXZ\x00garbage", b"\x80\x04]q\x00" * 1000):
            with self.subTest(data=data[:10]), self.assertRaises(hw.InputError):
                hw.load(data).replay()
        for value in ({}, {"segments": 1}, {"device_traces": [[{"action": 5}]]}, [1, 2], {"segments": [set()]}):
            with self.subTest(value=value):
                try:
                    hw.load(value).replay()
                except hw.InputError:
                    pass


class Behaviour(unittest.TestCase):
    def test_nothing_is_printed(self):
        code = ("import highwater as hw; r = hw.load(%r); r.replay(); r.explain(); hw.simulate(model='gpt2')" % LONG)
        run = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(PACKAGE)},
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual((run.stdout, run.stderr, run.returncode), ("", "", 0))

    def test_the_version_is_the_program_s(self):
        told = subprocess.run([HIGHWATER, "--version"], capture_output=True, text=True, check=True).stdout
        self.assertIn(hw.__version__, told.split())

    def as_module(self, path, *words):
        environment = {**os.environ, "PYTHONPATH": str(PACKAGE), "PATH": str(path)}
        return subprocess.run([sys.executable, "-m", "highwater", *words], env=environment, capture_output=True, text=True)

    def test_the_module_runs_as_the_program(self):
        told = self.as_module(HIGHWATER.resolve().parent, "simulate", "--model", "no-such-model")
        program = subprocess.run([HIGHWATER, "simulate", "--model", "no-such-model"], capture_output=True, text=True)
        self.assertEqual((told.returncode, told.stdout, told.stderr), (program.returncode, program.stdout, program.stderr))

    def test_a_module_without_its_program_says_so(self):
        told = self.as_module("/nonexistent", "--version")
        self.assertEqual(told.returncode, 1)
        self.assertIn("the program is not installed beside its Python module; install both again", told.stderr)

    def test_import_is_quick(self):
        code = "import time; t = time.process_time(); import highwater; print(time.process_time() - t)"
        times = [float(subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(PACKAGE)},
                                      stdout=subprocess.PIPE, text=True, check=True).stdout) for _ in range(5)]
        self.assertLess(min(times), 0.1)

    def test_other_threads_run(self):
        turns = 0
        finished = threading.Event()

        def count():
            nonlocal turns
            while not finished.is_set():
                turns += 1
                time.sleep(0.001)

        thread = threading.Thread(target=count)
        thread.start()
        begin = time.monotonic()
        hw.load(LONG).explain()
        took = time.monotonic() - begin
        finished.set()
        thread.join()
        self.assertGreater(turns, took * 100)

    def test_calls_overlap(self):
        answers = []
        threads = [threading.Thread(target=lambda: answers.append(hw.load(OUT_OF_MEMORY).replay().to_dict()))
                   for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(answers), 8)
        self.assertTrue(all(answer == answers[0] for answer in answers))

    def test_an_interrupt_ends_a_long_call(self):
        threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        begin = time.monotonic()
        with self.assertRaises(KeyboardInterrupt):
            while True:  # a call of any length is ended, and so is the loop
                hw.load(LONG).sweep()
        self.assertLess(time.monotonic() - begin, 5)


class DeepspeedEstimators(unittest.TestCase):
    def test_documented_figures(self):
        out = io.StringIO()
        stdout, sys.stdout = sys.stdout, out
        try:
            rows = hw.estimate_zero3_model_states_mem_needs_all_cold(2851598336, 32899072, 8, 1)
        finally:
            sys.stdout = stdout
        self.assertIn(" 71.71GB |   0.12GB | offload_param=cpu , offload_optimizer=cpu , zero_init=1", out.getvalue())
        self.assertEqual(len(rows), 6)

    def test_cases_agree_with_the_formula(self):
        """In Python's own arithmetic, in the order of stage3.py."""
        for total, largest in ((124439808, 38597376), (2851598336, 32899072), (176247271424, 3596615680)):
            for gpus in (1, 3, 8):
                for nodes in (1, 3, 7, 96):
                    cpu, gpu, layer = hw.estimate_zero3_model_states_mem_needs(total, largest, gpus, nodes)
                    share = 1 / nodes
                    self.assertEqual(cpu, int(total * 18 * share * 1.5))
                    self.assertEqual((gpu, layer), (4 * largest, 4 * largest))
                    cpu, gpu, _ = hw.estimate_zero3_model_states_mem_needs(total, largest, gpus, nodes, False, False)
                    self.assertEqual(gpu, 4 * largest + int(18 * total / (gpus * nodes)))


class ParameterLists(unittest.TestCase):
    """What a torch.nn.Module has, without torch."""

    def setUp(self):
        shapes = {"0.weight": (1024, 1024), "0.bias": (1024,), "1.weight": (10, 1024)}
        self.listed = Parameters("Net", tuple(Parameter(name, shape, "bfloat16") for name, shape in shapes.items()),
                                 1024 * 1025)

    def test_forms_about_model_states(self):
        answer = hw.estimate(model=self.listed, dp=4, dp_kind="zero3", formula="all")
        self.assertEqual(answer.model.parameters, self.listed.total_params)
        self.assertEqual(answer.model.largest_layer_parameters, 1024 * 1025)
        self.assertEqual(answer.to_dict()["plan"]["precision"], "bf16")  # as its tensors are
        names = [each.name for each in answer.estimates]
        self.assertEqual(names, ["4n", "zero-paper", "accelerate", "deepspeed-zero2", "deepspeed-zero2-current",
                                 "deepspeed-zero3"])
        self.assertIn("list of parameters", answer.not_applicable[0].reason)
        zero3 = next(each for each in answer.estimates if each.name == "deepspeed-zero3")
        total, largest = self.listed
        self.assertEqual(zero3.bytes, hw.estimate_zero3_model_states_mem_needs(total, largest, 4, 1, False, False)[1])

    def test_as_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "net.json"
            path.write_text(json.dumps(self.listed.to_dict()))
            self.assertEqual(program_json("estimate", "--model", str(path))["estimates"],
                             hw.estimate(model=self.listed).to_dict()["estimates"])

    def test_what_runs_needs_more(self):
        for ask in (hw.simulate, hw.plan):
            with self.subTest(ask=ask.__name__), self.assertRaises(hw.InputError) as caught:
                ask(model=self.listed, gpu="h100-80")
            self.assertIn("is a list of parameters", str(caught.exception))

    def test_in_words_and_as_a_page(self):
        self.assertEqual(str(self.listed), "Net: 1,059,840 bfloat16 parameters in 3 tensors, 1,049,600 in the largest layer")
        self.assertIn("<td>1.weight</td><td>[10, 1024]</td>", self.listed._repr_html_())


class Copies(unittest.TestCase):
    def test_parts_have_their_json_too(self):
        replay = hw.load(OUT_OF_MEMORY).replay()
        self.assertEqual(replay.devices[0].peak.to_dict(), replay.to_dict()["devices"][0]["peak"])
        self.assertIn("<td>reserved_bytes</td>", replay.devices[0].peak._repr_html_())

    def test_what_is_handed_out_is_a_copy(self):
        replay = hw.load(OUT_OF_MEMORY).replay()
        first = replay.to_dict()
        kept = copy.deepcopy(first)
        first["devices"].clear()
        self.assertEqual(replay.to_dict(), kept)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
