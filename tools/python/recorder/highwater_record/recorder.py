"""Starts the memory history when CUDA is initialised and writes the snapshot however the script ends."""
import atexit
import contextlib
import json
import lzma
import os
import pickle
import signal
import sys
import threading

from . import (
    allocator_calls, attributes, call_stacks, captures, fused_backward, libraries, observed, phases, places, pool_names, progress, status,
    stuck, valid_json)
from .workspaces import cudnn, cudnn_blocks


class Recorder:
    def __init__(self, torch, options):
        self._torch = torch
        self._options = options
        self._lock = threading.RLock()
        self._owner = None     # the process that records: a forked child has its parent's history, not its own
        self._path = None
        self._written = False
        self._steps = {}       # optimizer -> steps taken
        self._trainable = {}   # optimizer -> elements of its parameters
        self._control = None
        self._start_history = None
        self._phases = None
        self._allocator_calls = None
        self._attributes = None
        self._pool_names = None
        self._observer = None
        self._values = None

    def start_with_cuda(self):
        """torch calls this at the end of its lazy initialisation: before any allocation, and only if CUDA is used."""
        self._start_history = self._torch.cuda.memory._record_memory_history
        self._torch.cuda.memory._record_memory_history = _keep_the_history
        allocator_calls.initialise_before_pools(self._torch)
        self._torch.cuda._lazy_call(self._start)

    def _start(self):
        torch, options = self._torch, self._options
        _require_history(torch, options)
        _require_kernels(torch, options)
        context = {"context": None} if options.stacks == "none" else {"context": "alloc", "stacks": options.stacks}
        settings = allocator_calls.settings_now(torch)
        self._start_history(enabled="all", max_entries=options.max_entries, **context)
        self._owner = os.getpid()
        self._control = libraries.control(options)
        status.tell(options, "started")
        self._end_with_the_process()
        self._count_steps()
        clock = places.Clock(torch)
        self._observer = observed.Observer(torch, self._host_value)
        self._observer.start()
        self._phases = phases.Phases(torch, clock, self._observer)
        self._phases.start()
        self._allocator_calls = allocator_calls.AllocatorCalls(torch, clock, settings)
        captures.mark(torch, clock, self._allocator_calls.marks)
        self._allocator_calls.start()
        if pool_names.PoolNames.is_needed(torch):
            self._pool_names = pool_names.PoolNames(torch, clock)
            self._pool_names.start()
        if options.modules:
            self._attributes = attributes.Attributes(torch, clock)
            self._attributes.start()
        reads = stuck.Reads()
        self._compute_values(reads)
        stuck.watch(self.progress, reads, options)

    def _compute_values(self, reads):
        from . import after_import, answers, values  # only with torch
        from .experts import fused_routers, routing
        options, torch = self._options, self._torch
        try:
            router = routing.Router(torch, options.moe_load)
            self._values = values.Values(torch, self._control, answers.Answers(torch, options.answers), router, reads)
            self._values.start()
            after_import.after("transformer_engine.pytorch.router",
                               lambda module: fused_routers.tell_choices(module, router, self._values))
        except (AttributeError, TypeError, RuntimeError) as error:  # a release whose dispatcher is another one
            print(f"highwater record: PyTorch {torch.__version__} does not let its operators be observed ({error}); "
                  "values read from the device are zeros, and --answers and --moe-load have no effect",
                  file=sys.stderr, flush=True)

    def _host_value(self, tensor):
        return self._values.held(tensor) if self._values else None

    def progress(self):
        """Optimizer steps taken so far."""
        return max(self._steps.values(), default=0)

    # ---- ends

    def _end_with_the_process(self):
        atexit.register(self.write, "exit")
        leave_at_once = os._exit

        def _exit(code):
            self.write("exit")
            leave_at_once(code)

        os._exit = _exit
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGHUP):
                if signal.getsignal(number) is signal.SIG_DFL:  # not the script's own, nor ignored (nohup)
                    signal.signal(number, self._on_terminate)
        self._control.fakecuda_on_crash(_CRASH_STATEMENT)
        global _crashing
        _crashing = self

    def _on_terminate(self, number, _):
        self.write("terminated")
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    def _count_steps(self):
        from torch.optim.optimizer import register_optimizer_step_post_hook

        def stepped(optimizer, *_):
            self._claim()
            if id(optimizer) not in self._trainable:
                self._trainable[id(optimizer)] = sum(parameter.numel() for group in optimizer.param_groups
                                                     for parameter in group["params"] if parameter.requires_grad)
            self._steps[id(optimizer)] = self._steps.get(id(optimizer), 0) + 1
            wanted = self._options.steps
            # Scripts with several optimizers step each of them: the last one ends the recording.
            if wanted and not self._written and min(self._steps.values()) >= wanted:
                self._leave()

        register_optimizer_step_post_hook(stepped)
        fused_backward.watch(lambda _: None, stepped)

    def _leave(self):
        """Ends the script: what it would do after training (saving, evaluating) is not needed."""
        self.write("steps")
        if self._options.finish_step:  # what follows is not recorded any more
            self._torch.nn.modules.module.register_module_forward_pre_hook(lambda *_: self._exit())
        else:
            self._exit()

    @staticmethod
    def _exit():
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)

    # ---- the snapshot

    def _claim(self):
        """The requested name belongs to the process that first takes a step or, without one, first ends."""
        if self._path is None:
            self._path = _claim(self._options)

    def write(self, ended):
        """Writes the snapshot once; ended: exit | steps | terminated | crash."""
        with self._lock:
            if self._written or os.getpid() != self._owner:
                return
            self._written = True
        with _undisturbed(), progress.Progress() as shown:
            self._write(ended, shown)

    def _write(self, ended, shown):
        shown.tell("collecting the memory history")
        snapshot = self._torch.cuda.memory._snapshot()
        entries = sum(len(trace) for trace in snapshot["device_traces"])
        failure = _failure(self._torch)
        facts = {
            "ended": failure["kind"] if failure else ended,
            "error": failure["text"] if failure else None,
            "steps": self.progress(),
            "trainable": sum(self._trainable.values()),
            "torch": str(self._torch.__version__),  # a separate class, which no reader of plain data accepts
            "cuda": self._torch.version.cuda,
            "launches": self._control.fakecuda_launches(),
            "values_read": self._control.fakecuda_reads(),
            "not_modelled": _not_modelled(self._control),
            "communicators": _communicators(self._torch),
            "cudnn": cudnn.facts(self._torch, self._options),
        }
        if not entries:  # a launcher that queried the device, a worker that compiles
            status.tell(self._options, "nothing", **facts)
            return
        self._claim()
        shown.tell("sharing equal stacks")
        _share_frames(snapshot)
        if facts["cudnn"]["plans"]:
            executed = cudnn_blocks.executions(cudnn.fake_library(self._torch, self._options))
            cudnn_blocks.name_blocks(snapshot, executed)
        if self._attributes:
            self._attributes.look_at_workspaces()
            self._attributes.write(snapshot, self._phases.marks)
        phases.annotate(snapshot, self._phases.marks if self._phases else [])
        if self._allocator_calls:
            self._allocator_calls.write(snapshot)
        if self._pool_names:
            self._pool_names.write(snapshot)
        snapshot["torch_version"] = facts["torch"]  # PyTorch's own snapshots do not contain it
        described = json.loads(self._options.described)
        snapshot["highwater"] = {**described, **facts, **self._plan({**described, "cudnn": cudnn.counted(facts["cudnn"])})}
        text = f"writing {self._path} ({entries:,} entries)"
        shown.tell(text)
        _save(snapshot, self._path, lambda file: progress.CountedFile(file, shown, text))
        status.tell(self._options, "written", output=self._path, entries=entries, **facts)

    def _plan(self, described):
        """Nothing that is wrong with the plan may cost the recording."""
        if self._observer is None:
            return {}
        try:
            return {"plan": valid_json.dumps(self._observer.plan(described))}
        except Exception as error:
            print(f"highwater record: the plan of the run could not be written ({type(error).__name__}: {error})",
                  file=sys.stderr, flush=True)
            return {}


def _require_history(torch, options):
    """@raises SystemExit(3) if the script's allocator keeps no history (cudaMallocAsync, pluggable ones)."""
    if "PYTORCH_NO_CUDA_MEMORY_CACHING" in os.environ:  # forceUncachedAllocator of c10/cuda/CUDACachingAllocator.cpp
        _refuse(options, "PYTORCH_NO_CUDA_MEMORY_CACHING is set, with which PyTorch has no cache and keeps no history to record; "
                         "take it out of the environment")
    backend = torch.cuda.memory.get_allocator_backend()
    if backend == "native":
        return
    _refuse(options, f"only the native allocator keeps a history to record, and this script uses {backend}; "
                     "take backend: out of PYTORCH_CUDA_ALLOC_CONF, or the other allocator out of the script")


def _require_kernels(torch, options):
    """@raises SystemExit(3) if this PyTorch was not built for the GPU: its first kernel fails there, too.

    As torch.cuda decides (2.15, cuda/__init__.py _check_cubins): code of the same major version and no later minor one.
    """
    major, minor = torch.cuda.get_device_capability()
    built = [(int(word[:-1]), int(word[-1])) for word in
             (name.partition("_")[2].rstrip("af") for name in torch.cuda.get_arch_list() if name.startswith("sm_")) if word.isdigit()]
    translated = [int(name.partition("_")[2].rstrip("af")) for name in torch.cuda.get_arch_list() if name.startswith("compute_")]
    if not built or any(version <= 10 * major + minor for version in translated) or \
            any(each[0] == major and each[1] <= minor for each in built):
        return
    known = ", ".join(f"{each[0]}.{each[1]}" for each in built)
    _refuse(options, f"PyTorch {torch.__version__} has no kernels for {torch.cuda.get_device_name()} (compute capability {major}.{minor}; "
                     f"it was built for {known}); record with a release that has them, or for another --gpu")


def _refuse(options, reason):
    status.tell(options, "refused", place="torch", reason=reason)
    print(f"highwater record: {reason}", file=sys.stderr)
    raise SystemExit(3)


def _keep_the_history(*_, **__):
    """For scripts that do their own recording: there is only one history, and starting or stopping it again
    would shorten or empty it. Snapshots that the script takes are complete."""


@contextlib.contextmanager
def _undisturbed():
    """A second Ctrl-C must not cut off what the first one started."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


_crashing = None
_CRASH_STATEMENT = b"import highwater_record.recorder as r; r._crashing.write('crash')\n"


def _failure(torch):
    """What ended the script: the exception that Python printed last, or None."""
    value = getattr(sys, "last_value", None)
    if value is None:
        return None
    if isinstance(value, KeyboardInterrupt):
        return {"kind": "interrupted", "text": None}
    text = f"{type(value).__name__}: {value}".split("\n")[0]
    return {"kind": "oom" if isinstance(value, torch.cuda.OutOfMemoryError) else "error", "text": text}


def _claim(options):
    """The first process to ask gets the requested name; others append their process id."""
    try:
        os.close(os.open(options.status_file + ".owner", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        return options.output
    except FileExistsError:
        stem, suffix = os.path.splitext(options.output)
        return f"{stem}-{os.getpid()}{suffix}"


def _share_frames(snapshot):
    """Equal stacks become one list, which keeps the file small."""
    known = {}

    def share(owner):
        frames = owner.get("frames")
        if frames:
            seen = tuple(map(id, frames))
            if seen not in known:
                known[seen] = call_stacks.without_recorder(frames)
            owner["frames"] = known[seen]

    for trace in snapshot["device_traces"]:
        for entry in trace:
            share(entry)
    for segment in snapshot["segments"]:
        share(segment)
        for block in segment["blocks"]:
            share(block)


def _save(snapshot, path, counted=lambda file: file):
    """By rename: the name never refers to half a file; a link stays, the file behind it is replaced.

    counted: what the pickle is written through, given the file.
    """
    target = os.path.realpath(path)
    unfinished = os.path.join(os.path.dirname(target), f".highwater-{os.urandom(16).hex()}.part")
    try:
        with open(unfinished, "xb") as file:
            with lzma.open(file, "wb", preset=1) if path.endswith(".xz") else contextlib.nullcontext(file) as out:
                pickle.dump(snapshot, counted(out), protocol=4)
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(unfinished)
        raise


def _communicators(torch):
    """The ranks of each process group over NCCL: a communicator each, once something is sent in it."""
    c10d = sys.modules.get("torch.distributed.distributed_c10d")
    try:
        groups = c10d._world.pg_map.items() if c10d else ()
        return [group.size() for group, (backend, _) in groups if "nccl" in str(backend)]
    except (AttributeError, TypeError, ValueError, RuntimeError):  # another release's table
        return []


def _not_modelled(control):
    """{function: calls} of what the fake libraries only pretend to do."""
    import ctypes
    size = control.fakecuda_unmodelled(None, 0)
    text = ctypes.create_string_buffer(size + 1)
    control.fakecuda_unmodelled(text, size + 1)
    return {name: int(count) for name, _, count in
            (line.partition(" ") for line in text.value.decode().splitlines())}
