"""What a script asks of the allocator and its history does not tell: settings switched at run time, memory fractions,
options of memory pools and when nobody uses them any more, calls of empty_cache; and what the device has.

Each is a mark at its moment, which becomes an annotation of the snapshot; traces/allocator_notes.hpp lists them.
"""
import collections
import functools
import sys

from . import phases


def settings_now(torch):
    """As a snapshot shows them. @pre no history is kept, of which this would be an entry"""
    return torch.cuda.memory._snapshot().get("allocator_settings")


def initialise_before_pools(torch):
    """A torch.cuda.MemPool may be what initialises CUDA. It does so before it is made, so that its options are noted and
    its use is counted as those of later ones are."""
    pools = getattr(torch.cuda, "MemPool", None)
    if pools is None:  # before 2.5
        return
    make = pools.__init__

    @functools.wraps(make)
    def made(pool, *arguments, **options):
        if torch.cuda.is_initialized():
            return make(pool, *arguments, **options)
        torch.cuda.init()
        return pools.__init__(pool, *arguments, **options)  # AllocatorCalls has wrapped this one

    pools.__init__ = made


class AllocatorCalls:
    def __init__(self, torch, clock, settings):
        """settings: settings_now() of the start."""
        self._torch = torch
        self._clock = clock
        self._settings = settings
        self._are_switched = False
        self.marks = []  # in the order in which they were made, those of captures among them

    def write(self, snapshot):
        """A snapshot shows the settings of its end; those of the start are the ones that the notes go on from."""
        phases.annotate(snapshot, [*self._devices(snapshot), *self.marks])
        if self._are_switched and self._settings is not None:
            snapshot["allocator_settings"] = self._settings

    def start(self):
        bindings = self._torch._C
        self._note("noted exactly")
        for name in ("_cuda_emptyCache", "_accelerator_emptyCache"):
            self._watch(bindings, name, lambda *_: "empty_cache", "done")
        for name in ("_cuda_cudaCachingAllocator_set_allocator_settings", "_accelerator_setAllocatorSettings"):
            self._watch(bindings, name, self._switch)
        self._watch(bindings, "_cuda_setMemoryFraction", self._limit, device=lambda _, device: device)
        self._watch_pools()
        PoolUsers(self._torch, self._note).start()

    def _note(self, text, moment=None):
        self.marks.append(phases.Mark(moment or self._clock.now(), f"allocator: {text}"))

    def _watch(self, owner, name, words, end=None, device=lambda *_: None):
        """Notes each call of a function that succeeds, where it began in the history of its `device` (None: the current
        one), and its `end`; a release that lacks it makes none."""
        function = getattr(owner, name, None)
        if function is None:
            return

        @functools.wraps(function)
        def noted(*arguments):
            moment = self._clock.now(device(*arguments))
            result = function(*arguments)
            self._note(words(*arguments), moment)
            if end:
                self._note(end)
            return result

        setattr(owner, name, noted)

    def _switch(self, conf, *_):
        self._are_switched = True
        return f"settings {conf}"

    def _limit(self, fraction, device, *_):
        """PyTorch rounds down, and until 2.9 a whole device is a limit as well (setMemoryFraction,
        c10/cuda/CUDACachingAllocator.cpp)."""
        total = self._torch.cuda.get_device_properties(device).total_memory
        is_none = fraction >= 1 and self._torch.__version__ >= (2, 10)
        return f"limit {'none' if is_none else int(fraction * total)}"

    def _devices(self, snapshot):
        """What each device that the script used has for it: what is free, and what the allocator holds."""
        cuda = self._torch.cuda
        for device, history in enumerate(snapshot["device_traces"]):
            if history:
                memory = cuda.mem_get_info(device)[0] + cuda.memory_reserved(device)
                yield phases.Mark(self._clock.start(device), f"allocator: device {memory}")

    def _watch_pools(self):
        pools = getattr(self._torch.cuda, "MemPool", None)
        if pools is None:  # before 2.5
            return
        make = pools.__init__

        @functools.wraps(make)
        def made(pool, allocator=None, use_on_oom=False, no_split=False, *more, **options):
            given = {"use_on_oom": use_on_oom, "no_split": no_split}
            make(pool, allocator, *more, **{name: value for name, value in given.items() if value}, **options)
            pool._highwater_serves_others = use_on_oom
            words = " ".join(name for name in ("no_split", "use_on_oom") if given[name])
            if words:
                self._note(f"pool {pool.id[0]},{pool.id[1]} {words}")

        pools.__init__ = made


class PoolUsers:
    """Notes when a private pool loses its last user. A torch.cuda.MemPool uses its pool, and so does each CUDA graph that
    was captured into it, until the object is deleted or the graph reset. PyTorch counts them (PrivatePool::use_count,
    c10/cuda/CUDACachingAllocator.cpp); sessions of use_mem_pool and of cudagraph trees come and go without a difference.
    """

    def __init__(self, torch, note):
        """note: what is called with the text of a note when a pool loses its last user."""
        self._cuda = torch.cuda
        self._note = note
        self._users = collections.Counter()

    def start(self):
        pool, graph = getattr(self._cuda, "MemPool", None), self._cuda.CUDAGraph
        if pool is not None:  # since 2.5
            _after(pool, "__init__", lambda made: self._users.update([tuple(made.id)]))
            _before(pool, "__del__", self._delete)
        _after(graph, "capture_end", self._hold)
        for name in ("reset", "__del__"):
            _before(graph, name, self._let_go)

    def _hold(self, graph):
        graph._highwater_pools = [tuple(pool) for pool in (graph.pools() if hasattr(graph, "pools") else [graph.pool()])]
        self._users.update(graph._highwater_pools)

    def _delete(self, pool):
        self._drop(tuple(pool.id), " now")
        if self._users[tuple(pool.id)] and getattr(pool, "_highwater_serves_others", False):
            self._note(f"retire {pool.id[0]},{pool.id[1]}")

    def _let_go(self, graph):
        for pool in graph.__dict__.pop("_highwater_pools", []):
            self._drop(pool, "")

    def _drop(self, pool, when):
        self._users[pool] -= 1
        if self._users[pool] == 0 and not sys.is_finalizing():
            self._note(f"release {pool[0]},{pool[1]}{when}")


def _after(owner, name, tell):
    method = getattr(owner, name)

    @functools.wraps(method)
    def told(self, *arguments, **options):
        result = method(self, *arguments, **options)
        tell(self)
        return result

    setattr(owner, name, told)


def _before(owner, name, tell):
    method = getattr(owner, name, None)  # __del__ may be missing

    def told(self, *arguments, **options):
        tell(self)
        return method(self, *arguments, **options) if method else None

    setattr(owner, name, functools.wraps(method)(told) if method else told)
