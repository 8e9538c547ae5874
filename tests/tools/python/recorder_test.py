"""The Python side of `highwater record`, as far as it goes without torch: a stand-in package plays torch's part."""
import contextlib
import io
import json
import lzma
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import textwrap
import types
import unittest
import weakref
from unittest import mock

PACKAGE = pathlib.Path(__file__).resolve().parents[3] / "tools" / "python" / "recorder"
sys.path.insert(0, str(PACKAGE))

from highwater_record import (  # noqa: E402
    absent_store, allocator_calls, answers_text, autotuning, call_stacks, captures, distributed, distributions, fused_backward, host_weights,
    launchers, libraries, observed, phases, pipelines, places, pool_names, progress, recorder, required_releases, settings, splits, status,
    stuck, valid_json)
from highwater_record.experts import deepspeed_gates, routing  # noqa: E402
from highwater_record.observed import evaluations  # noqa: E402
from highwater_record.workspaces import cudnn_blocks  # noqa: E402


class Pipelines(unittest.TestCase):
    def test_what_the_stage_before_sends_is_named_by_shape_and_type(self):
        self.assertEqual(pipelines.shape_of("2x256x512:bfloat16"), ((2, 256, 512), "bfloat16"))

    def test_without_a_name_the_variable_is_said(self):
        with self.assertRaisesRegex(RuntimeError, "HIGHWATER_RECORD_STAGE_INPUT=2x256x512:bfloat16"):
            pipelines._required(types.SimpleNamespace(stage_input=""))


class FusedBackwards(unittest.TestCase):
    def test_each_is_told_where_it_begins_and_where_it_ended(self):
        class Lomo:
            def fused_backward(self, loss, lr):
                told.append((loss, lr))

        told = []
        module = types.SimpleNamespace(Lomo=Lomo)
        with mock.patch.dict(sys.modules, {"lomo_optim.lomo": module}):
            fused_backward.watch(lambda each: told.append(("begins", each)), lambda each: told.append(("ended", each)))
        optimizer = module.Lomo()
        optimizer.fused_backward("loss", lr=0.5)
        self.assertEqual(told, [("begins", optimizer), ("loss", 0.5), ("ended", optimizer)])


class ValidJson(unittest.TestCase):
    def test_infinite_numbers_are_texts(self):
        text = valid_json.dumps({"steps_per_print": float("inf"), "betas": (0.9, float("-inf")), "loss": [float("nan")]})
        self.assertEqual(json.loads(text, parse_constant=lambda name: self.fail(f"{name} is no JSON")),
                         {"steps_per_print": "Infinity", "betas": [0.9, "-Infinity"], "loss": ["NaN"]})

    def test_other_objects_are_as_printed(self):
        self.assertEqual(json.loads(valid_json.dumps({"path": pathlib.PurePosixPath("a/b")})), {"path": "a/b"})


class Folder(unittest.TestCase):
    def setUp(self):
        self._temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self._temporary.cleanup)
        self.folder = pathlib.Path(self._temporary.name)

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
        return path

    def options(self, **environment):
        values = {"HIGHWATER_RECORD_STATUS": str(self.folder / "status"), **environment}
        return settings.from_environment(values)

    def events(self):
        path = self.folder / "status"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def run_python(self, script, *, torch_version, extra_path=()):
        """A Python process under the recorder, with a package that calls itself torch."""
        self.write("site/torch/version.py", torch_version)
        self.write("site/torch/__init__.py", "print('torch runs')")
        self.write("script.py", script)
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(PACKAGE), *map(str, extra_path), str(self.folder / "site")]),
            "HIGHWATER_RECORD_STATUS": str(self.folder / "status"),
            "HIGHWATER_RECORD_LIBRARIES": str(self.folder / "libraries"),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        return subprocess.run([sys.executable, str(self.folder / "script.py")], env=environment, text=True,
                              capture_output=True, check=False)


class WhichTorch(Folder):
    def test_a_build_without_cuda_is_refused_before_it_runs(self):
        run = self.run_python("import torch", torch_version="""
            __version__ = '2.6.0+cpu'
            cuda: Optional[str] = None
            hip: Optional[str] = None
            """)
        self.assertEqual(run.returncode, 3)
        self.assertIn("built without CUDA", run.stderr)
        self.assertNotIn("torch runs", run.stdout)
        self.assertEqual([event["event"] for event in self.events()], ["refused"])

    def test_rocm_old_releases_and_other_cuda_versions_are_refused_with_a_reason(self):
        for version, reason in (
                ("__version__ = '2.6.0+rocm6.2'\ncuda = None\nhip = '6.2'", "ROCm"),
                ("__version__ = '2.1.0+cu121'\ncuda = '12.1'\nhip = None", "too old"),
                ("__version__ = '2.6.0+cu118'\ncuda = '11.8'\nhip = None", "CUDA 11.8")):
            run = self.run_python("import torch", torch_version=version)
            self.assertEqual(run.returncode, 3, version)
            self.assertIn(reason, run.stderr)

    def test_the_build_is_read_as_pytorch_writes_it(self):
        self.write("torch/version.py", """
            from typing import Optional
            __all__ = ['__version__', 'debug', 'cuda', 'git_version', 'hip']
            __version__ = '2.15.0+cu132'
            debug = False
            cuda: Optional[str] = '13.2'
            hip: Optional[str] = None
            """)
        self.assertEqual(libraries._build(str(self.folder / "torch")), ("2.15.0+cu132", "13.2", None))

    def test_the_fake_libraries_are_of_the_releases_that_a_wheel_wants(self):
        self.write("torch/version.py", "")
        self.write("torch-2.6.0.dist-info/METADATA", """\
            Requires-Dist: nvidia-cudnn-cu12 (==9.1.0.70) ; platform_system == "Linux"
            Requires-Dist: nvidia-nccl-cu12==2.21.5; platform_system == "Linux"
            Requires-Dist: nvidia-nvtx-cu12==12.4.127
            """)
        environment = {"FAKE_NCCL_VERSION": "1"}
        required_releases.announce(str(self.folder / "torch"), environment)
        self.assertEqual(environment, {"FAKE_NCCL_VERSION": "1", "FAKE_CUDNN_VERSION": "90100"})
        required_releases.announce(str(self.folder / "elsewhere" / "torch"), environment)

    def test_a_script_without_torch_runs_as_ever(self):
        run = self.run_python("print('done')", torch_version="")
        self.assertEqual((run.returncode, run.stdout), (0, "done\n"))
        self.assertEqual(self.events(), [])


class Start(Folder):
    def test_a_sitecustomize_that_is_stood_in_front_of_runs_too(self):
        self.write("own/sitecustomize.py", "print('own sitecustomize')")
        run = self.run_python("import sitecustomize\nprint(sitecustomize.__file__)", torch_version="",
                              extra_path=[self.folder / "own"])
        self.assertEqual(run.stdout.splitlines(), ["own sitecustomize", str(self.folder / "own/sitecustomize.py")])

    def test_functions_run_before_and_after_an_import_once(self):
        self.write("site/module.py", "print('import')")
        run = self.run_python("""
            from highwater_record import after_import
            after_import.before("module", lambda: print("before"))
            after_import.after("module", lambda module: print("after", module.__name__))
            import module
            import importlib
            importlib.reload(module)
            """, torch_version="")
        self.assertEqual(run.stdout.splitlines(), ["before", "import", "after module", "import"], run.stderr)


class Launchers(Folder):
    def test_a_launcher_becomes_the_one_rank(self):
        options = self.options(HIGHWATER_RECORD_RANK="9")
        environment = {}
        launchers.become_rank(options, 16, environment)
        self.assertEqual((environment["RANK"], environment["WORLD_SIZE"], environment["LOCAL_RANK"],
                          environment["GROUP_RANK"], environment["FAKE_CUDA_DEVICES"]), ("9", "16", "1", "1", "8"))

    def test_the_users_world_counts_more_than_the_launchers(self):
        environment = {}
        launchers.become_rank(self.options(HIGHWATER_RECORD_WORLD_SIZE="64"), 8, environment)
        self.assertEqual(environment["WORLD_SIZE"], "64")

    def test_spawn_runs_the_function_here(self):
        module = type(sys)("spawn")
        launchers.spawn_one_rank(module, self.options())
        calls = []
        saved = dict(os.environ)
        try:
            module.spawn(lambda rank, word: calls.append((rank, word, os.environ["WORLD_SIZE"])), ("a",), nprocs=4)
        finally:
            os.environ.clear()
            os.environ.update(saved)
        self.assertEqual(calls, [(0, "a", "4")])


    def test_of_the_deepspeed_launchers_processes_one_runs(self):
        started = []
        kept, subprocess.Popen = subprocess.Popen, lambda command, env=None: started.append((command, env))
        try:
            launchers.keep_one_process(self.options(HIGHWATER_RECORD_RANK="1"), ["-m", "deepspeed.launcher.launch"])
            for rank in range(2):
                subprocess.Popen(["python", "x.py"], env={"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2"})
            subprocess.Popen(["ls"])
            launchers.keep_one_process(self.options(), ["train.py"])
        finally:
            subprocess.Popen = kept
        self.assertEqual([command for command, _ in started], [["true"], ["python", "x.py"], ["ls"]])
        self.assertEqual((started[1][1]["RANK"], started[1][1]["FAKE_CUDA_DEVICES"]), ("1", "2"))


class Output(Folder):
    def test_the_first_process_gets_the_name(self):
        options = self.options(HIGHWATER_RECORD_OUTPUT="run.pickle")
        self.assertEqual(recorder._claim(options), "run.pickle")
        self.assertEqual(recorder._claim(options), f"run-{os.getpid()}.pickle")

    def test_equal_stacks_become_one_list(self):
        frame = {"filename": "a.py", "line": 1, "name": "f"}
        snapshot = {"device_traces": [[{"frames": [frame]}, {"frames": [frame]}]],
                    "segments": [{"frames": [], "blocks": [{"frames": [frame]}]}]}
        recorder._share_frames(snapshot)
        first, second = snapshot["device_traces"][0]
        self.assertIs(first["frames"], second["frames"])
        self.assertIs(first["frames"], snapshot["segments"][0]["blocks"][0]["frames"])

    def test_a_name_never_stands_for_half_a_file(self):
        path = self.folder / "run.pickle"
        with self.assertRaises(Exception):
            recorder._save({"not picklable": lambda: None}, str(path))
        self.assertFalse(path.exists())

    def test_a_link_stays_and_the_file_behind_it_is_replaced(self):
        (self.folder / "elsewhere").mkdir()
        link = self.folder / "link.pickle"
        link.symlink_to("elsewhere/real.pickle")
        recorder._save({"segments": []}, str(link))
        self.assertTrue(link.is_symlink())
        self.assertEqual(pickle.loads((self.folder / "elsewhere/real.pickle").read_bytes()), {"segments": []})
        self.assertEqual([path.name for path in (self.folder / "elsewhere").iterdir()], ["real.pickle"])

    def test_the_longest_name_and_a_compressed_one(self):
        for name in ("x" * 255, "y.pickle.xz"):
            recorder._save({"segments": []}, str(self.folder / name))
            self.assertTrue((self.folder / name).exists())
        self.assertEqual(pickle.load(lzma.open(self.folder / "y.pickle.xz")), {"segments": []})

    def test_what_happened_is_kept_line_by_line(self):
        options = self.options()
        status.tell(options, "loaded", release="2.6.0")
        status.tell(options, "started")
        self.assertEqual([(e["event"], e.get("release")) for e in self.events()], [("loaded", "2.6.0"), ("started", None)])


    def test_a_process_that_allocated_nothing_leaves_the_name_to_others(self):
        options = self.options(HIGHWATER_RECORD_OUTPUT=str(self.folder / "run.pickle"))
        for entries, event in (([], "nothing"), ([{"action": "alloc", "frames": []}], "written")):
            recording = recorder.Recorder(StandInTorch(entries), options)
            recording._owner = os.getpid()
            recording._control = StandInControl()
            with mock.patch.object(recorder.cudnn, "facts", return_value={"plans": 0, "plans_not_counted": 0}):
                recording.write("exit")
            self.assertEqual(self.events()[-1]["event"], event)
        self.assertEqual(self.events()[-1]["output"], str(self.folder / "run.pickle"))

    def test_an_allocator_without_a_history_is_refused(self):
        options = self.options()
        torch = StandInTorch([])
        recorder._require_history(torch, options)
        self.assertEqual(self.events(), [])
        torch.cuda.memory.get_allocator_backend = lambda: "cudaMallocAsync"
        with self.assertRaises(SystemExit) as refused, contextlib.redirect_stderr(io.StringIO()):
            recorder._require_history(torch, options)
        self.assertEqual(refused.exception.code, 3)
        self.assertEqual(self.events()[-1]["event"], "refused")
        self.assertIn("cudaMallocAsync", self.events()[-1]["reason"])


    def test_a_gpu_that_this_pytorch_was_not_built_for_is_refused(self):
        options = self.options()
        torch = StandInTorch([])
        torch.cuda.get_arch_list = lambda: ["sm_75", "sm_80", "sm_86", "sm_90a", "sm_100", "sm_120"]
        torch.cuda.get_device_name = lambda: "a GPU"
        for capability in ((8, 0), (8, 9), (9, 0), (10, 3), (12, 0)):
            torch.cuda.get_device_capability = lambda capability=capability: capability
            recorder._require_kernels(torch, options)
        self.assertEqual(self.events(), [])
        torch.cuda.get_device_capability = lambda: (7, 0)
        with self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()):
            recorder._require_kernels(torch, options)
        self.assertIn("no kernels for a GPU (compute capability 7.0; it was built for 7.5, 8.0, 8.6, 9.0, 10.0, 12.0)",
                      self.events()[-1]["reason"])
        torch.cuda.get_arch_list = lambda: ["sm_75", "compute_60"]  # translated when it is loaded
        recorder._require_kernels(torch, options)


class CudnnWorkspaces(unittest.TestCase):
    def entries(self, *blocks):
        """(address, size, function of the innermost frame) of blocks that are freed at once."""
        return [{"action": action, "addr": address, "size": size, "frames": [{"filename": file, "name": function, "line": 1}]}
                for address, size, (file, function) in blocks for action in ("alloc", "free_requested", "free_completed")]

    def test_blocks_of_plans_that_ran_are_named(self):
        conv, linear = ("torch/nn/modules/conv.py", "_conv_forward"), ("torch/nn/modules/linear.py", "forward")
        history = self.entries((4096, 512, linear), (4096, 8192, conv), (65536, 1024, conv), (4096, 512, conv), (4096, 2048, conv))
        history.insert(0, {"action": "alloc", "addr": 65536 * 4, "size": 512, "frames": []})
        # The second lies behind the frontend's own part; nobody had the third; the fourth is at a cuBLAS block's address.
        executed = [(4096, 10), (65536 + 1000, 0), (7, 11), (4096, 11)]
        cudnn_blocks.name_blocks({"device_traces": [history]}, executed)
        named = [(entry["size"], entry["frames"][0]["name"]) for entry in history if cudnn_blocks.is_named(entry)]
        self.assertEqual(named, [(8192, "cuDNN workspace (convolution)"), (1024, "cuDNN workspace (attention)"),
                                 (2048, "cuDNN workspace (convolution's weight gradient)")])
        self.assertEqual([len(entry["frames"]) for entry in history if cudnn_blocks.is_named(entry)], [2, 2, 2])


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Shown(Folder):
    def test_what_takes_long_is_said_on_a_terminal_and_removed(self):
        terminal = Terminal()
        options = self.options(HIGHWATER_RECORD_OUTPUT=str(self.folder / "run.pickle"))
        recording = recorder.Recorder(StandInTorch([{"action": "alloc", "frames": []}]), options)
        recording._owner, recording._control = os.getpid(), StandInControl()
        with mock.patch.object(sys, "__stderr__", terminal), mock.patch.object(recorder.cudnn, "facts", return_value={"plans": 0, "plans_not_counted": 0}):
            recording.write("exit")
        self.assertIn("highwater record: collecting the memory history", terminal.getvalue())
        self.assertIn("run.pickle (1 ", terminal.getvalue())
        self.assertTrue(terminal.getvalue().endswith("\r\x1b[K"))

    def test_what_is_written_is_counted_but_not_told_faster_than_it_can_be_read(self):
        terminal, now, written = Terminal(), [0.0], io.BytesIO()
        with progress.Progress(terminal, clock=lambda: now[0]) as shown:
            file = progress.CountedFile(written, shown, "writing run.pickle")
            for now[0] in (0.0, 0.1, 0.2, 0.3):
                file.write(b"x" * 1_000_000)
        self.assertEqual(len(written.getvalue()), 4_000_000)
        self.assertEqual([text for text in terminal.getvalue().split("\r\x1b[K") if text],
                         [f"highwater record: writing run.pickle, {megabytes} MB" for megabytes in (1, 4)])

    def test_elsewhere_nothing_is_said(self):
        stream = io.StringIO()
        with progress.Progress(stream) as shown:
            shown.tell("collecting the memory history")
        self.assertEqual(stream.getvalue(), "")

    def test_a_stream_that_cannot_show_it_costs_nothing(self):
        class Tee:  # what scripts put in place of sys.stderr
            def write(self, text):
                return len(text)

        closed = Terminal()
        closed.close()
        with mock.patch.object(sys, "stderr", Tee()), mock.patch.object(sys, "__stderr__", None):
            for stream in (None, Tee(), closed):
                with progress.Progress(stream) as shown:
                    shown.tell("collecting the memory history")
        terminal = Terminal()
        with progress.Progress(terminal) as shown:
            terminal.close()
            shown.tell("collecting the memory history")


class StandInTorch:
    __version__ = "2.6.0"
    version = types.SimpleNamespace(cuda="12.4")

    def __init__(self, entries):
        snapshot = {"device_traces": [entries], "segments": []}
        memory = types.SimpleNamespace(_snapshot=lambda: snapshot, get_allocator_backend=lambda: "native")
        self.cuda = types.SimpleNamespace(memory=memory, OutOfMemoryError=MemoryError)


class StandInControl:
    fakecuda_launches = fakecuda_reads = staticmethod(lambda: 0)
    fakecuda_unmodelled = staticmethod(lambda text, size: 0)


class WhatIsRefused(unittest.TestCase):
    def test_without_a_cache_there_is_no_history(self):
        with mock.patch.dict(os.environ, {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}), \
                mock.patch.object(status, "tell") as told, contextlib.redirect_stderr(io.StringIO()) as said:
            with self.assertRaises(SystemExit):
                recorder._require_history(StandInTorch([]), None)
        self.assertEqual(told.call_args.args[1], "refused")
        self.assertIn("take it out of the environment", said.getvalue())


class AllocatorCalls(unittest.TestCase):
    def setUp(self):
        class MemPool:
            id = (0, 7)

            def __init__(self, allocator=None, use_on_oom=False, no_split=False):
                self.given = (use_on_oom, no_split)

        def apply(conf):
            if conf == "wrong":
                raise RuntimeError(conf)

        self.allocations = 0
        bindings = types.SimpleNamespace(_cuda_emptyCache=self.allocate, _accelerator_setAllocatorSettings=apply,
                                         _cuda_setMemoryFraction=lambda fraction, device: None)
        graph = type("CUDAGraph", (), {"capture_end": lambda self: None, "reset": lambda self: None})
        cuda = types.SimpleNamespace(
            MemPool=MemPool, CUDAGraph=graph, mem_get_info=lambda device: (900, 2000), memory_reserved=lambda device: 100,
            get_device_properties=lambda device: types.SimpleNamespace(total_memory=2001))
        self.torch = types.SimpleNamespace(_C=bindings, cuda=cuda, __version__=(2, 15))
        clock = types.SimpleNamespace(now=lambda device=None: places.Moment(device or 0, (self.allocations, 0, 0)),
                                      start=lambda device: places.Moment(device, (0, 0, 0)))
        self.calls = allocator_calls.AllocatorCalls(self.torch, clock, {"max_split_size": -1})
        self.calls.start()

    def allocate(self):
        self.allocations += 1

    def noted(self):
        snapshot = {"device_traces": [[{"action": "alloc", "time_us": 5}]], "allocator_settings": {"max_split_size": 7}}
        self.calls.write(snapshot)
        return [(each["name"], each["trace_index"]) for each in snapshot["external_annotations"]], snapshot

    def test_each_call_is_noted_where_it_began(self):
        self.torch._C._cuda_emptyCache()
        self.torch._C._accelerator_setAllocatorSettings("max_split_size_mb:64")
        notes, snapshot = self.noted()
        self.assertEqual(notes, [("allocator: device 1000", 0), ("allocator: noted exactly", 0),
                                 ("allocator: empty_cache", 0), ("allocator: done", 1),
                                 ("allocator: settings max_split_size_mb:64", 1)])
        self.assertEqual(snapshot["allocator_settings"], {"max_split_size": -1})

    def test_settings_that_are_refused_change_nothing(self):
        with self.assertRaises(RuntimeError):
            self.torch._C._accelerator_setAllocatorSettings("wrong")
        notes, snapshot = self.noted()
        self.assertEqual(notes, [("allocator: device 1000", 0), ("allocator: noted exactly", 0)])
        self.assertEqual(snapshot["allocator_settings"], {"max_split_size": 7})

    def test_a_pool_that_initialises_cuda_is_noted(self):
        class MemPool:
            id = 0, 1

            def __init__(self, use_on_oom=False):
                self.given = use_on_oom

        started = []
        cuda = types.SimpleNamespace(MemPool=MemPool, is_initialized=lambda: bool(started))
        make = MemPool.__init__

        def start():
            def noted(pool, *arguments, **options):
                started.append("pool")
                wrapped(pool, *arguments, **options)
            wrapped, MemPool.__init__ = MemPool.__init__, noted
            started.append("cuda")

        cuda.init = start
        allocator_calls.initialise_before_pools(types.SimpleNamespace(cuda=cuda))
        self.assertIsNot(MemPool.__init__, make)
        self.assertTrue(MemPool(use_on_oom=True).given)
        self.assertEqual(started, ["cuda", "pool"])
        MemPool()
        self.assertEqual(started, ["cuda", "pool", "pool"])

    def test_memory_fractions_are_noted_in_bytes(self):
        self.allocate()
        for fraction, version in ((0.5, (2, 15)), (1.0, (2, 15)), (1.0, (2, 9))):
            self.torch.__version__ = version
            self.torch._C._cuda_setMemoryFraction(fraction, 0)
        self.torch._C._cuda_setMemoryFraction(0.25, 1)  # of a device without a history
        self.assertEqual(self.noted()[0][2:], [("allocator: limit 1000", 1), ("allocator: limit none", 1),
                                               ("allocator: limit 2001", 1)])

    def test_pools_with_options_are_noted(self):
        pools = [self.torch.cuda.MemPool(), self.torch.cuda.MemPool(None, True), self.torch.cuda.MemPool(no_split=True)]
        self.assertEqual(pools[1].given, (True, False))
        self.assertEqual([name for name, _ in self.noted()[0]],
                         ["allocator: device 1000", "allocator: noted exactly", "allocator: pool 0,7 use_on_oom", "allocator: pool 0,7 no_split"])


class PoolNames(unittest.TestCase):
    """Before 2.12 no entry names its pool."""

    HISTORY = [{"action": action, "addr": address, "size": size, "stream": stream} for action, address, size, stream in (
        ("segment_alloc", 100, 20, 0), ("alloc", 100, 10, 0),        # common
        ("segment_alloc", 200, 20, 7), ("alloc", 200, 10, 7),        # captured on stream 7
        ("segment_alloc", 300, 20, 0), ("alloc", 300, 10, 0),        # beside the capture
        ("oom", 64, 99, 7), ("free_requested", 200, 10, 7),
        ("segment_free", 200, 20, 7), ("segment_alloc", 190, 40, 7))]  # the capture is over

    def names(self, version=(2, 6), more=(), segments=()):
        cuda = types.SimpleNamespace(CUDAGraph=object)
        names = pool_names.PoolNames(types.SimpleNamespace(cuda=cuda, __version__=version), None)
        moment = lambda *counts: places.Moment(0, counts)  # noqa: E731
        names._sessions = [pool_names.Session((1, 0), 7, moment(1, 0, 0), moment(3, 1, 0)), *more]
        snapshot = {"device_traces": [[dict(entry) for entry in self.HISTORY]], "segments": list(segments)}
        names.write(snapshot)
        return [entry["pool_id"] for entry in snapshot["device_traces"][0]]

    def test_segments_of_a_capture_belong_to_its_pool(self):
        common, graphs = (0, 0), (1, 0)
        self.assertEqual(self.names(), [common, common, graphs, graphs, graphs, graphs, graphs, graphs, graphs, common])

    def test_what_is_left_is_as_the_snapshot_says(self):
        common, graphs = (0, 0), (1, 0)
        left = {"address": 300, "total_size": 20, "segment_pool_id": common}  # made by no stream of the capture
        self.assertEqual(self.names(segments=[left])[2:6], [graphs, graphs, common, common])

    def test_of_two_sessions_the_older_serves_until_2_10(self):
        every = pool_names.Session((0, 4), None, places.Moment(0, (1, 0, 0)), None)
        self.assertEqual(self.names((2, 9), [every])[2:5], [(1, 0), (1, 0), (0, 4)])
        self.assertEqual(self.names((2, 10), [every])[2:5], [(0, 4), (0, 4), (0, 4)])

    def test_a_capture_that_failed_names_nothing(self):
        broken = pool_names.Session(None, 0, places.Moment(0, (0, 0, 0)), None)
        self.assertEqual(self.names(more=[broken])[:2], [(0, 0), (0, 0)])

    def test_captures_and_pools_are_followed(self):
        memory = types.SimpleNamespace(_cuda_beginAllocateToPool=lambda *_: None, _cuda_endAllocateCurrentStreamToPool=lambda *_: None)
        graph = type("CUDAGraph", (), {"capture_begin": lambda self, *_: None, "capture_end": lambda self: None,
                                       "pool": lambda self: [3, 0]})
        stream = types.SimpleNamespace(cuda_stream=9)
        cuda = types.SimpleNamespace(CUDAGraph=graph, memory=memory, current_stream=lambda: stream)
        clock = types.SimpleNamespace(now=lambda: places.Moment(0, (0, 0, 0)))
        names = pool_names.PoolNames(types.SimpleNamespace(cuda=cuda), clock)
        names.start()
        captured = graph()
        captured.capture_begin("pool")
        for call in (*[memory._cuda_beginAllocateToPool] * 2, *[memory._cuda_endAllocateCurrentStreamToPool] * 2):
            call(0, (0, 2))
        captured.capture_end()
        self.assertEqual([(each.pool, each.stream, each.end is not None) for each in names._sessions],
                         [((3, 0), 9, True), ((0, 2), None, True), ((0, 2), None, True)])


class Libraries(unittest.TestCase):
    def test_what_others_need_is_loaded_first(self):
        names = ["libcublas.so.12", "libcuda.so.1", "libcudart.so.12", "libfakecuda.so.1", "libnccl.so.2"]
        self.assertEqual(sorted(names, key=libraries._place_in_order),
                         ["libfakecuda.so.1", "libcuda.so.1", "libcudart.so.12", "libcublas.so.12", "libnccl.so.2"])

    def test_an_empty_variable_is_none(self):
        self.assertEqual(settings.from_environment({"HIGHWATER_RECORD_WORLD_SIZE": ""}).world_size, 0)


class Groups(unittest.TestCase):
    def test_a_given_store_is_replaced(self):
        started = []

        def init_process_group(backend=None, timeout=None, store=None, device_id=None):
            started.append((backend, store, device_id))

        c10d = types.SimpleNamespace(init_process_group=init_process_group)
        distributed._adapt_start(c10d, lambda: "absent")
        c10d.init_process_group("nccl", store="the script's", device_id=3)
        c10d.init_process_group("nccl")
        self.assertEqual(started, [("nccl", "absent", 3), ("nccl", None, None)])

    def test_a_group_is_announced_while_it_is_made(self):
        announced = []
        control = types.SimpleNamespace(fakecuda_announce_split=lambda *place: announced.append(place))
        group = type("ProcessGroup", (), {"rank": lambda self: 5, "split_group": lambda self, ranks: list(announced)})
        c10d = types.SimpleNamespace(ProcessGroup=group,
                                     _new_process_group_helper=lambda size, rank, name: list(announced))
        kept, libraries.control = libraries.control, lambda options: control
        try:
            splits.announce(c10d, None)
            self.assertEqual(c10d._new_process_group_helper(8, 3, "name"), [(3, 8)])
            self.assertEqual(announced.pop(), (0, 0))
            self.assertEqual(group().split_group([4, 5]), [(3, 8), (1, 2)])
            self.assertEqual(announced.pop(), (0, 0))
        finally:
            libraries.control = kept

    def test_a_checkpoint_of_one_share_is_accepted_by_either_kind_of_validation(self):
        def of_2_6(plan, metadata) -> bool:
            return False

        def of_2_15(plan, metadata) -> list:
            return ["shards are missing"]

        for validate, accepted in ((of_2_6, True), (of_2_15, [])):
            planner = types.SimpleNamespace(_validate_global_plan=validate, dedup_save_plans=lambda plans, lowest: lowest)
            distributed.accept_partial_plan(planner)
            self.assertEqual(planner._validate_global_plan([], None), accepted)
            self.assertTrue(planner.dedup_save_plans(["ours", "its copy"], False))  # the first rank writes


class AbsentPeers(unittest.TestCase):
    def setUp(self):
        store = types.SimpleNamespace(Store=object)
        with mock.patch.dict(sys.modules, {"torch": types.ModuleType("torch"), "torch._C": types.ModuleType("torch._C"),
                                           "torch._C._distributed_c10d": store}):
            self.store = absent_store.make_class()()

    def test_no_other_rank_has_failed(self):
        for failure in ("exception_dump", "default_pg/0//remote_error"):
            self.assertFalse(self.store.check([failure]), failure)
        self.store.set("exception_dump", "3")
        self.assertTrue(self.store.check(["exception_dump"]))

    def test_what_other_ranks_would_set_is_there(self):
        self.assertTrue(self.store.check(["rank7/address", "barrier"]))


class Answers(unittest.TestCase):
    def test_answers_are_read(self):
        self.assertEqual(answers_text.parse("nonzero=0.25,item=3"), {"nonzero": 0.25, "item": 3.0})

    def test_mistakes_are_named(self):
        for text in ("nonzero", "loss=1", "item=x"):
            with self.assertRaises(ValueError, msg=text):
                answers_text.parse(text)


class CallStacks(unittest.TestCase):
    def test_the_recorder_is_taken_out_with_its_call_of_the_dispatcher(self):
        ours = str(PACKAGE / "highwater_record" / "values.py")
        names = ["model.py", "site/torch/_ops.py", ours, ours, "site/torch/nn/linear.py", "site/torch/_ops.py", "train.py"]
        frames = [{"filename": name, "line": 1, "name": "f"} for name in names]
        left = [frame["filename"] for frame in call_stacks.without_recorder(frames)]
        self.assertEqual(left, ["model.py", "site/torch/nn/linear.py", "site/torch/_ops.py", "train.py"])


class Routing(unittest.TestCase):
    def test_all_choices_are_given_away_by_share_and_none_twice_to_a_token(self):
        for tokens, wanted, shares in ((100, 2, [0.25] * 4), (7, 2, [0.5, 0.3, 0.2]), (10, 2, [0.9, 0.05, 0.05]),
                                       (3, 1, [1, 0, 0])):
            counts = routing.counts_of(tokens, wanted, shares)
            self.assertEqual(sum(counts), tokens * wanted)
            self.assertLessEqual(max(counts), tokens)
        self.assertEqual(routing.counts_of(100, 2, [0.25] * 4), [50] * 4)
        self.assertEqual(routing.counts_of(10, 1, [0.5, 0.3, 0.2]), [5, 3, 2])

    def test_the_busiest_expert_gets_a_multiple_of_the_mean(self):
        self.assertIsNone(routing.Router(None, "even").shares(8))
        self.assertEqual(routing.Router(None, "busiest:2").shares(4), [0.5] + [0.5 / 3] * 3)
        self.assertEqual(routing.Router(None, "0.7,0.3").shares(2), [0.7, 0.3])
        self.assertIsNone(routing.Router(None, "0.7,0.3").shares(8))


class Gates(unittest.TestCase):
    def test_a_gates_choices_are_told_apart_while_it_runs(self):
        class TopKGate:
            k = 2

            def forward(self):
                return [deepspeed_gates.running.wanted] + [deepspeed_gates.running.next_choice() for _ in range(3)]

        deepspeed_gates.tell_when_gates_run(types.SimpleNamespace(TopKGate=TopKGate))
        self.assertEqual(TopKGate().forward(), [2, 0, 1, 1])
        self.assertEqual(TopKGate().forward(), [2, 0, 1, 1])
        self.assertEqual(deepspeed_gates.running.wanted, 0)

    def test_a_gate_that_fails_has_ended(self):
        class TopKGate:
            k = 1

            def forward(self):
                raise ValueError

        deepspeed_gates.tell_when_gates_run(types.SimpleNamespace(TopKGate=TopKGate))
        with self.assertRaises(ValueError):
            TopKGate().forward()
        self.assertEqual(deepspeed_gates.running.wanted, 0)


class Autotuning(unittest.TestCase):
    def test_only_the_first_candidate_is_left(self):
        cache = type("AlgorithmSelectorCache", (), {"__call__": lambda self, name, choices, layout: (name, choices, layout)})
        autotuning.take_first_choice(types.SimpleNamespace(AlgorithmSelectorCache=cache))
        self.assertEqual(cache()("mm", [None, "extern", "template"], layout=3), ("mm", ["extern"], 3))

    def test_a_kernel_has_the_first_of_its_configurations(self):
        class Tuner:
            def __init__(self, kernel, *, configs, hint=None):
                self.made = (kernel, configs, hint)

            def coordinate_descent_tuning(self, launcher, *args):
                return "a neighbour"

        autotuning.compile_one_configuration(types.SimpleNamespace(CachingAutotuner=Tuner))
        tuner = Tuner("sum", configs=["small", "large"], hint=1)
        self.assertEqual(tuner.made, ("sum", ["small"], 1))
        self.assertEqual(tuner.coordinate_descent_tuning("small", "an argument"), "small")


class Ticking:
    """A clock whose moments are told apart by the number of allocations."""

    def __init__(self):
        self.time = 0

    def now(self):
        self.time += 1
        return places.Moment(0, (self.time - 1, 0, 0))


class Tensor:
    """As much of a tensor as its shape needs."""

    def __init__(self, *shape, floating=False):
        self.shape = shape
        self._floating = floating
        self.is_cpu = False

    def dim(self):
        return len(self.shape)

    def is_floating_point(self):
        return self._floating


class Distributions(unittest.TestCase):
    def test_checks_of_values_that_nobody_knows_hold(self):
        asked_of = []
        module = types.SimpleNamespace(_all_true_or_runtime_assert=lambda valid, message: asked_of.append(message))
        distributions.accept(module)
        self.assertTrue(module._all_true_or_runtime_assert(types.SimpleNamespace(is_cuda=True), "on the device"))
        self.assertFalse(module._all_true_or_runtime_assert(types.SimpleNamespace(is_cuda=False), "on the host"))
        self.assertEqual(asked_of, ["on the device", "on the host"])
        distributions.accept(types.SimpleNamespace())  # a release without it


class ObservedPlan(unittest.TestCase):
    def setUp(self):
        self.torch = types.SimpleNamespace(
            Tensor=Tensor, is_grad_enabled=lambda: True, __version__="2.15.0",
            distributed=types.SimpleNamespace(is_available=lambda: False))
        self.observer = observed.Observer(self.torch, lambda tensor: None)

    def step(self, *batches):
        for batch in batches:
            with mock.patch.object(observed.observer.batches, "arguments_of_call", lambda: ((), batch)):
                weight = types.SimpleNamespace(dtype="torch.float32", numel=lambda: 1, requires_grad=True)
                self.observer.forward_begins(mock.Mock(spec=[], modules=lambda: [], parameters=lambda: [weight]))
            self.observer.forward_ended(types.SimpleNamespace(logits=Tensor(1), past_key_values=None))
        group = {"params": [1, 2], "fused": True, "momentum": 0.9, "lr": 1.0}
        self.observer.optimizer_begins(types.SimpleNamespace(param_groups=[group]))
        self.observer.optimizer_ended()

    def test_micro_batches_and_their_shapes(self):
        for _ in range(2):
            self.step({"input_ids": Tensor(2, 128), "labels": Tensor(2, 128)}, {"input_ids": Tensor(2, 64)})
        plan = self.observer.plan({"gpu": "h100-80"})
        self.assertEqual(plan["batch"]["shapes"], [[2, 128], [2, 64]] * 2)
        self.assertEqual(plan["steps"]["micro_batches"], [2, 2])
        self.assertTrue(plan["batch"]["labels"])
        self.assertFalse(plan["batch"]["keeps_outputs"])
        self.assertEqual(plan["batch"]["attention_mask"], "none")
        self.assertEqual(plan["optimizers"][0]["implementation"], "fused")
        self.assertEqual(plan["optimizers"][0]["options"], {"momentum": 0.9})
        self.assertEqual(plan["loop"], "plain")
        json.dumps(plan)

    def test_passes_before_each_backward_are_counted(self):
        texts = {"input_ids": Tensor(2, 8)}
        self.step(texts, texts)
        self.observer._in_backward = False
        self.observer._since_backward = 2
        self.observer.backward_begins()
        self.assertEqual(self.observer.plan({})["steps"]["passes_of_backward"], [2])

    def test_a_step_that_calls_the_whole_micro_batch_is_one(self):
        optimizer = types.SimpleNamespace(param_groups=[{"params": [1]}])
        for passes in (1, 20):
            self.observer._since = 0
            self.observer.optimizer_begins(optimizer)
            self.observer._since = passes
            self.observer.optimizer_ended()
        self.observer._since = 3  # micro-batches before the one that the step calls
        self.observer.optimizer_begins(optimizer)
        self.observer._since = 1
        self.observer.optimizer_ended()
        self.assertEqual(self.observer._micro_batches, [1, 1, 4])

    def test_of_a_loss_around_a_model_the_models_own_inputs_count(self):
        weight = types.SimpleNamespace(dtype="torch.float32", numel=lambda: 1, requires_grad=True)
        called = []
        model = mock.Mock(spec=["config", "forward", "parameters", "modules"], parameters=lambda: [weight], modules=lambda: [],
                          forward=lambda **inputs: called.append(inputs))
        loss = mock.Mock(spec=[], modules=lambda: [], parameters=lambda: [weight])
        with mock.patch.object(observed.observer.batches, "arguments_of_call", lambda: (([{}, {}], Tensor(4)), {})), \
                mock.patch.object(observed.observer.models, "innermost", lambda module: model):
            self.observer.forward_begins(loss)
        for length in (8, 6):
            model.forward(input_ids=Tensor(4, length), attention_mask=Tensor(4, length))
        self.assertEqual(len(called), 2)
        plan = self.observer.plan({})
        self.assertEqual((plan["batch"]["shapes"], plan["batch"]["labels"]), ([[4, 8], [4, 6]], False))

    def test_what_is_not_trained_is_named_by_as_few_modules_as_say_it(self):
        class Module:
            def __init__(self, own=(), **children):
                self.own, self.children = own, children

            def named_parameters(self, recurse):
                return [(f"p{place}", types.SimpleNamespace(requires_grad=each)) for place, each in enumerate(self.own)]

            def named_children(self):
                return self.children.items()

            def parameters(self):
                return [each for _, each in self.named_parameters(False)] + [each for child in self.children.values() for each in child.parameters()]

        body = Module(table=Module((False,)), blocks=Module(**{"0": Module((False, False)), "1": Module((True,)), "2": Module()}))
        self.assertEqual(observed.models.parts_by_training(Module(own=(False, True), body=body, head=Module((True,)))),
                         (["p0", "body.table", "body.blocks.0"], ["p1", "body.blocks.1", "head"]))

    def test_a_loss_that_is_a_module_is_no_forward_pass(self):
        outputs = Tensor(2, 10)
        with mock.patch.object(observed.observer.batches, "arguments_of_call", lambda: ((Tensor(2, 3, 8, 8),), {})):
            weight = types.SimpleNamespace(dtype="torch.float32", numel=lambda: 1, requires_grad=True)
            self.observer.forward_begins(mock.Mock(spec=[], modules=lambda: [], parameters=lambda: [weight]))
        self.observer.forward_ended(outputs)
        self.observer.forward_begins(mock.Mock(spec=[], parameters=lambda: []))
        self.observer.forward_ended(Tensor(1))
        self.assertIsNone(self.observer._keeps)  # which only the next pass of the model tells
        self.observer.optimizer_begins(types.SimpleNamespace(param_groups=[{"params": []}]))
        self.assertEqual(self.observer.plan({})["steps"]["micro_batches"], [1])

    def test_what_was_not_seen_is_named(self):
        plan = self.observer.plan({})
        self.assertEqual(plan["unknown"], ["a forward pass with gradients", "an optimizer step"])

    def test_a_mask_that_nobody_can_read_is_not_called_full(self):
        batch = observed.observer.batches.Batch(self.torch, (), {"attention_mask": Tensor(2, 8)})
        self.assertEqual(batch.mask(lambda tensor: None), "unread")
        shaped = observed.observer.batches.Batch(self.torch, (), {"attention_mask": Tensor(2, 1, 8, 8)})
        self.assertEqual(shaped.mask(lambda tensor: None), "shaped")

    def test_gradients_zeroed_by_the_same_line_before_and_after_steps_are_zeroed_at_the_start(self):
        def zero():
            self.observer._zeroes(None)

        zero()
        self.step({})
        self.assertIsNone(self.observer._zeroed_at())
        zero()
        self.assertEqual(self.observer._zeroed_at(), "start")

    def test_places_of_images_and_their_grid_are_read_off_the_batch(self):
        class Ids(Tensor):
            def __eq__(self, mark):
                return types.SimpleNamespace(sum=lambda _: types.SimpleNamespace(max=lambda: {7: 256}.get(mark, 0)))

        config = types.SimpleNamespace(image_token_id=7, audio_token_id=None)
        batch = observed.observer.batches.Batch(self.torch, (), {"input_ids": Ids(2, 448), "image_grid_thw": Tensor(2, 3)})
        self.assertEqual(batch.places(config, lambda ids: ids), 256)
        self.assertEqual(batch.grid(lambda grid: [[1, 32, 30], [1, 8, 8]]), [1, 32, 30])
        self.assertIsNone(batch.grid(lambda grid: None))
        text = observed.observer.batches.Batch(self.torch, (), {"input_ids": Tensor(2, 448)})
        self.assertEqual((text.places(config, None), text.grid(None)), (0, None))

    def test_examples_with_several_choices(self):
        batch = observed.observer.batches.Batch(self.torch, (), {"input_ids": Tensor(4, 5, 64), "attention_mask": Tensor(4, 5, 64)})
        self.assertEqual(batch.tokens(), [4, 64])
        embedded = observed.observer.batches.Batch(self.torch, (), {"inputs_embeds": Tensor(4, 64, 768, floating=True)})
        self.assertEqual(embedded.tokens(), [4, 64])

    def test_a_detector_is_given_images_and_objects_in_lists(self):
        images = [Tensor(3, 480, 640, floating=True), Tensor(3, 400, 300, floating=True)]
        targets = [{"boxes": Tensor(2, 4)}, {"boxes": Tensor(5, 4)}]
        with mock.patch.object(Tensor, "__len__", lambda tensor: tensor.shape[0], create=True):
            batch = observed.observer.batches.Batch(self.torch, (images, targets), {})
            self.assertEqual((batch.images(), batch.objects(), batch.has_labels(), batch.has_examples()),
                             ([[480, 640], [400, 300]], [2, 5], True, True))
            of_detr = observed.observer.batches.Batch(self.torch, (), {"pixel_values": Tensor(2, 3, 8, 8), "labels": targets})
            self.assertEqual((of_detr.images(), of_detr.objects()), ([], [2, 5]))
            of_masks = observed.observer.batches.Batch(self.torch, (), {"class_labels": [Tensor(3), Tensor(1)], "mask_labels": []})
            self.assertEqual(of_masks.objects(), [3, 1])
        self.assertEqual(observed.observer.batches.Batch(self.torch, ([], [{}]), {}).objects(), [])

    def test_labels_have_several_names(self):
        self.step({"input_ids": Tensor(2, 8), "start_positions": Tensor(2), "end_positions": Tensor(2)})
        self.assertTrue(self.observer.plan({})["batch"]["labels"])

    def test_passes_without_gradients_are_counted(self):
        self.step({"input_ids": Tensor(2, 8)})
        self.torch.is_grad_enabled = lambda: False
        for _ in range(3):
            self.observer.forward_begins(mock.Mock(parameters=lambda: [1]))
        self.assertEqual(self.observer.plan({})["steps"]["without_gradients"], 3)

    def test_trainers_evaluation_is_told_by_its_loop(self):
        arguments = types.SimpleNamespace(eval_accumulation_steps=4, eval_do_concat_batches=True, batch_eval_metrics=False,
                                          include_for_metrics=[])
        trainer = types.SimpleNamespace(args=arguments, preprocess_logits_for_metrics=None)
        logits = Tensor(8, 128, 1000, floating=True)
        logits.dtype = "torch.float32"
        names = {"evaluations": evaluations.Evaluations(self.torch)}
        code = compile("def evaluation_loop(self, batches, prediction_loss_only=False, logits=None):\n"
                       "    for batch, logits in batches:\n        evaluations.note(batch, 2, True)\n",
                       "/lib/transformers/trainer.py", "exec")
        exec(code, names)
        batch = observed.observer.batches.Batch(self.torch, (), {"input_ids": Tensor(8, 128), "labels": Tensor(8, 128)})
        names["evaluation_loop"](trainer, [(batch, None), (batch, logits)])
        told = names["evaluations"].described()
        self.assertEqual((told["by"], told["after_steps"], told["passes"], told["shapes"]), ("trainer", [2], [2], [[8, 128]]))
        self.assertEqual((told["loss_only"], told["accumulation_steps"]), (False, 4))
        self.assertEqual(told["gathered"], ["float32", 8, 128, 1000])
        self.assertEqual(names["evaluations"].others, 0)
        json.dumps(told)

    def test_a_scripts_own_evaluation_has_labels(self):
        noted = evaluations.Evaluations(self.torch)
        batch = observed.observer.batches.Batch(self.torch, (), {"input_ids": Tensor(8, 128), "labels": Tensor(8, 128)})
        without = observed.observer.batches.Batch(self.torch, (), {"input_ids": Tensor(8, 128)})
        noted.note(batch, 2, True)
        noted.note(batch, 2, False)  # another model
        noted.note(without, 2, True)  # generation
        self.assertEqual(noted.described(), {"by": "script", "after_steps": [2], "passes": [1], "shapes": [[8, 128]]})
        self.assertEqual(noted.others, 2)
        self.assertIsNone(evaluations.Evaluations(self.torch).described())

    def test_labels_of_each_pass_have_their_length(self):
        self.step({"input_ids": Tensor(2, 8), "labels": Tensor(2, 4)}, {"input_ids": Tensor(2, 8)})
        self.assertEqual(self.observer.plan({})["batch"]["targets"], [4, None])

    def test_copies_of_parameters_that_are_none_of_the_models_are_counted(self):
        class Parameter:
            dtype = "torch.float32"

            def __init__(self, elements, is_cuda=True):
                self.numel, self.is_cuda = lambda: elements, is_cuda

        layer, averaged, on_host = Parameter(8), Parameter(16), Parameter(32, is_cuda=False)
        self.observer._copied = [weakref.ref(each) for each in (layer, averaged, on_host, Parameter(64))]  # the last one died
        self.observer._module = lambda: types.SimpleNamespace(parameters=lambda: [layer])
        self.assertEqual(self.observer._elements_of_copies(), {"float32": 16})

    def test_what_a_copy_returns_is_noted(self):
        class Owner:
            def copied(self):
                return 7

        seen = []
        observed.observer._after(Owner, "copied", seen.append)
        self.assertEqual((Owner().copied(), seen), (7, [7]))

    def test_arguments_of_bitsandbytes_are_names_of_its_classes(self):
        def named(name, bits, paged, module="bitsandbytes.optim.adamw"):
            kind = type(name, (), {"__module__": module})
            optimizer = kind()
            optimizer.param_groups, optimizer.is_paged = [], paged
            optimizer.args = types.SimpleNamespace(optim_bits=bits)
            return observed.observer.optimizers.described(optimizer)["class"]

        self.assertEqual(named("AdamW", 8, False), "bitsandbytes.AdamW8bit")
        self.assertEqual(named("AdamW", 8, True), "bitsandbytes.PagedAdamW8bit")
        self.assertEqual(named("PagedAdamW8bit", 8, True), "bitsandbytes.PagedAdamW8bit")
        self.assertEqual(named("AdamW", 32, False), "bitsandbytes.AdamW")
        self.assertEqual(named("AdamW", 8, True, "torch.optim.adamw"), "torch.AdamW")

    def test_a_trainer_of_trl_says_what_it_was_told(self):
        names = {"observed": observed}
        code = compile("def train(self, inputs=None):\n    return observed.loops.settings(lambda tensor: tensor.held)\n",
                       "/lib/transformers/trainer.py", "exec")
        exec(code, names)
        args = types.SimpleNamespace(per_device_train_batch_size=4, gradient_accumulation_steps=2, max_completion_length=32, use_vllm=False)
        trainer = type("GRPOTrainer", (), {"__module__": "trl.trainer.grpo_trainer", "args": args, "ref_model": None})()
        self.assertEqual(names["train"](trainer), {"batch": 4, "accumulation": 2, "completion": 32, "answer": None, "reference": False, "generates_by_vllm": False})
        mask = mock.MagicMock(is_cpu=True)
        mask.dim.return_value = 2
        mask.__ne__.return_value.sum.return_value.max.return_value = 192
        self.assertEqual(names["train"](trainer, {"completion_mask": mask})["answer"], 192)
        on_device = types.SimpleNamespace(is_cpu=False, held=None, dim=lambda: 2)
        self.assertIsNone(names["train"](trainer, {"completion_mask": on_device})["answer"])
        self.assertIsNone(names["train"](types.SimpleNamespace(args=args)))
        self.assertIsNone(observed.loops.settings(None))

    def test_a_model_of_a_library_has_the_name_that_makes_it(self):
        def model(module, parameters=(), head=None, **facts):
            kind = type("ResNet", (), {"__module__": module, **facts})
            made = kind()
            made.parameters = lambda: [types.SimpleNamespace(numel=lambda count=count: count) for count in parameters]
            made.modules = lambda: [made, *([head] if head else [])]
            return made

        builder = observed.observer.models.builder
        config = {"architecture": "resnet50", "num_classes": 1000}
        self.assertEqual(builder(model("timm.models.resnet", pretrained_cfg=config, num_classes=7)), {"name": "timm:resnet50", "classes": 7})
        self.assertEqual(builder(model("timm.models.resnet", pretrained_cfg=config, num_classes=1000)), {"name": "timm:resnet50"})
        self.assertIsNone(builder(model("__main__", pretrained_cfg=config)))
        weights = [types.SimpleNamespace(meta={"num_params": 100 + 1000 * 9, "categories": ["class"] * 1000})]
        library = types.SimpleNamespace(
            list_models=lambda: ["other", "small"], get_model_weights=lambda name: weights if name == "small" else [],
            get_model_builder=lambda name: types.SimpleNamespace(__module__="torchvision.models.resnet"))
        with mock.patch.dict(sys.modules, {"torchvision.models": library}):
            head = types.SimpleNamespace(out_features=5, in_features=8)
            self.assertEqual(builder(model("torchvision.models.resnet", [100, 5 * 9], head)), {"name": "torchvision:small", "classes": 5})
            whole = types.SimpleNamespace(out_features=1000, in_features=8)
            self.assertEqual(builder(model("torchvision.models.resnet", [100, 9000], whole)), {"name": "torchvision:small"})
            self.assertIsNone(builder(model("torchvision.models.resnet", [101, 5 * 9], head)))
            second = model("torchvision.models.resnet", [100, 9000], whole, aux_classifier=object())
            self.assertEqual(builder(second), {"name": "torchvision:small(aux_loss=True)"})

    def test_label_smoothing_is_trainers(self):
        names = {"observed": observed}
        code = compile("def train(self):\n    return observed.loops.label_smoothing()\n", "/lib/transformers/trainer.py", "exec")
        exec(code, names)
        self.assertEqual(names["train"](types.SimpleNamespace(args=types.SimpleNamespace(label_smoothing_factor=0.1))), 0.1)
        self.assertEqual(observed.loops.label_smoothing(), 0)

    def test_an_error_while_looking_does_not_end_the_script(self):
        with self.observer._careful("model"):
            raise AttributeError("gone")
        self.assertEqual(self.observer.plan({})["unknown"][0], "model (AttributeError: gone)")


class Phases(unittest.TestCase):
    def setUp(self):
        torch = types.SimpleNamespace(compiler=types.SimpleNamespace(is_compiling=lambda: False))
        self.phases = phases.Phases(torch, Ticking(), mock.Mock())

    def names(self):
        marks = self.phases.marks
        self.assertEqual([mark.moment.counts[0] for mark in marks], sorted(mark.moment.counts[0] for mark in marks))
        return " ".join(mark.name.replace("step ", "step-") for mark in marks)

    def forward(self, modules=2):
        for _ in range(modules):
            self.phases._enter(None)
        for _ in range(modules):
            self.phases._leave(None, None, None)

    def backward(self):
        self.phases._begin_backward()
        self.forward()  # what is recomputed belongs to the backward pass
        self.phases._end_backward()

    def optimize(self):
        self.phases._optimizer_steps(None)
        self.phases._end_optimizer()

    def zero_grad(self):
        self.phases._begin_zero_grad()
        self.phases._settle()

    def test_a_plain_loop_with_two_micro_batches(self):
        self.phases._settle()  # the optimizer was made
        for _ in range(2):
            for _ in range(2):
                self.forward()
                self.backward()
            self.optimize()
            self.zero_grad()
        step = "data forward backward data forward backward optimizer zero_grad"
        self.assertEqual(self.names(), f"init step-0 {step} step-1 {step}")

    def test_gradients_zeroed_before_the_forward_pass_belong_to_its_step(self):
        for _ in range(2):
            self.zero_grad()
            self.forward()
            self.backward()
            self.optimize()
        step = "data forward backward optimizer"
        self.assertEqual(self.names(), f"init step-0 {step} step-1 zero_grad {step}")

    def test_gradients_zeroed_once_before_the_loop_are_no_part_of_a_step(self):
        self.zero_grad()
        for _ in range(2):
            self.forward()
            self.backward()
            self.optimize()
            self.zero_grad()
        step = "data forward backward optimizer zero_grad"
        self.assertEqual(self.names(), f"init step-0 {step} step-1 {step}")

    def test_an_optimizer_that_calls_the_whole_step(self):
        for _ in range(2):
            self.phases._optimizer_steps(None)
            self.forward()
            self.zero_grad()
            self.backward()
            self.phases._end_optimizer()
        self.assertEqual(self.names(), "init step-0 forward zero_grad backward optimizer "
                                       "step-1 data forward zero_grad backward optimizer")

    def test_nothing_is_marked_while_a_function_is_compiled(self):
        self.phases._torch.compiler.is_compiling = lambda: True
        self.forward()
        self.assertEqual(self.names(), "init")

    def test_a_position_is_reached_when_as_many_entries_have_passed(self):
        history = [{"action": action} for action in ("segment_alloc", "alloc", "free_requested", "free_completed",
                                                     "alloc")]
        moments = [places.Moment(0, counts) for counts in ((0, 0, 0), (1, 0, 0), (1, 1, 1), (2, 1, 1), (3, 1, 1))]
        self.assertEqual(places.positions(history, moments), [0, 2, 4, 5, None])

    def test_failures_and_segments_count_where_a_release_counts_them(self):
        history = [{"action": action} for action in ("segment_alloc", "alloc", "oom", "segment_free", "segment_map", "alloc")]
        moments = [places.Moment(0, counts) for counts in ((1, 0, 0, 0, 1, 0), (1, 0, 0, 1, 1, 0), (1, 0, 0, 1, 1, 1))]
        self.assertEqual(places.positions(history, moments), [2, 3, 4])

    def test_marks_are_written_to_the_device_whose_allocator_counted(self):
        history = [{"action": "alloc", "time_us": 5}, {"action": "alloc", "time_us": 6}]
        snapshot = {"device_traces": [[], history]}
        phases.annotate(snapshot, [phases.Mark(places.Moment(1, (0, 0, 0)), "init"),
                                   phases.Mark(places.Moment(1, (2, 0, 0)), "step 0"),
                                   phases.Mark(places.Moment(0, (9, 0, 0)), "lost")])
        self.assertEqual(snapshot["external_annotations"], [
            {"name": "init", "stage": "START", "device": 1, "trace_index": 0, "time_us": 5},
            {"name": "step 0", "stage": "START", "device": 1, "trace_index": 2, "time_us": 6}])


class Captures(unittest.TestCase):
    def test_captures_are_marked_around(self):
        happened = []

        class Graph:
            def capture_begin(self):
                happened.append("begin")

            def capture_end(self):
                happened.append("end")

        clock = types.SimpleNamespace(now=lambda: len(happened))
        marks = []
        captures.mark(types.SimpleNamespace(cuda=types.SimpleNamespace(CUDAGraph=Graph)), clock, marks)
        graph = Graph()
        graph.capture_begin()
        graph.capture_end()
        self.assertEqual(happened, ["begin", "end"])
        self.assertEqual([(mark.name, mark.moment) for mark in marks],
                         [(captures.CAPTURE_BEGIN, 0), (captures.CAPTURE_END, 2)])


class PoolUsers(unittest.TestCase):
    def setUp(self):
        notes = self.notes = []

        class MemPool:
            def __init__(self, number):
                self.id = (0, number)

        class Graph:
            def capture_end(self):
                notes.append("captured")

            def pool(self):
                return (0, 1)

            def reset(self):
                notes.append("reset")

        self.cuda = types.SimpleNamespace(MemPool=MemPool, CUDAGraph=Graph)
        allocator_calls.PoolUsers(types.SimpleNamespace(cuda=self.cuda), notes.append).start()

    def test_a_deleted_pool_gives_its_memory_back_at_once(self):
        pool = self.cuda.MemPool(2)
        del pool
        self.assertEqual(self.notes, ["release 0,2 now"])

    def test_the_last_of_a_pool_and_its_graphs_releases_it(self):
        pool, graph, other = self.cuda.MemPool(1), self.cuda.CUDAGraph(), self.cuda.CUDAGraph()
        graph.capture_end()
        other.capture_end()
        del pool
        other.reset()
        del other
        self.assertEqual(self.notes, ["captured", "captured", "reset"])
        del graph
        self.assertEqual(self.notes[3:], ["release 0,1"])

    def test_a_graph_without_a_capture_releases_nothing(self):
        self.cuda.CUDAGraph().reset()
        self.assertEqual(self.notes, ["reset"])


class HostWeights(unittest.TestCase):
    def test_only_large_weights_of_the_host_are_left_as_they_are(self):
        filled = []
        init = types.SimpleNamespace(**{name: filled.append for name in host_weights._FILLING})
        host_weights.leave_untouched(init)

        def tensor(elements=1 << 20, cpu=True, floats=True):
            return types.SimpleNamespace(is_cpu=cpu, is_floating_point=lambda: floats, numel=lambda: elements,
                                         element_size=lambda: 4)

        kept = [tensor(elements=100), tensor(cpu=False), tensor(floats=False)]
        for each in (tensor(), *kept):
            init.normal_(each)
        self.assertEqual(filled, kept)


class Waiting(Folder):
    def test_a_line_is_suspected_after_reading_much_for_two_intervals(self):
        self.assertIsNone(stuck.suspect({}, {"a.py:1": 5000}))
        self.assertIsNone(stuck.suspect({"a.py:1": 5000}, {"a.py:2": 5000}))
        self.assertIsNone(stuck.suspect({"a.py:1": 5000}, {"a.py:1": 199}))
        self.assertEqual(stuck.suspect({"a.py:1": 200, "b.py:1": 500}, {"a.py:1": 300, "b.py:1": 400}), "b.py:1")

    def test_reads_are_counted_by_the_line_of_the_script(self):
        reads = stuck.Reads()
        for _ in range(3):
            reads.count()
        (line, count), = reads.take().items()
        self.assertEqual((line.split(":")[0], count), (__file__, 3))
        self.assertEqual(reads.take(), {})

    def test_a_process_that_outlives_the_command_has_nobody_to_tell(self):
        status.tell(self.options(HIGHWATER_RECORD_STATUS=str(self.folder / "gone" / "status")), "nothing")


if __name__ == "__main__":
    unittest.main()
