"""What a script asks of the allocator and its history does not tell: settings switched at run time, options of memory
pools, calls of empty_cache.

Each is a mark at its moment, which becomes an annotation of the snapshot; traces/allocator_notes.hpp lists them.
"""
import functools

from . import phases


def settings_now(torch):
    """As a snapshot shows them. @pre no history is kept, of which this would be an entry"""
    return torch.cuda.memory._snapshot().get("allocator_settings")


class AllocatorCalls:
    def __init__(self, torch, clock, settings):
        """settings: settings_now() of the start."""
        self._torch = torch
        self._clock = clock
        self._settings = settings
        self._are_switched = False
        self._marks = []

    def write(self, snapshot):
        """A snapshot shows the settings of its end; those of the start are the ones that the notes go on from."""
        phases.annotate(snapshot, self._marks)
        if self._are_switched and self._settings is not None:
            snapshot["allocator_settings"] = self._settings

    def start(self):
        bindings = self._torch._C
        self._note("noted")
        for name in ("_cuda_emptyCache", "_accelerator_emptyCache"):
            self._watch(bindings, name, lambda *_: "empty_cache")
        for name in ("_cuda_cudaCachingAllocator_set_allocator_settings", "_accelerator_setAllocatorSettings"):
            self._watch(bindings, name, self._switch)
        self._watch_pools()

    def _note(self, text, moment=None):
        self._marks.append(phases.Mark(moment or self._clock.now(), f"allocator: {text}"))

    def _watch(self, owner, name, words):
        """Notes each call of a function that succeeds, where it began; a release that lacks it makes none."""
        function = getattr(owner, name, None)
        if function is None:
            return

        @functools.wraps(function)
        def noted(*arguments):
            moment = self._clock.now()
            result = function(*arguments)
            self._note(words(*arguments), moment)
            return result

        setattr(owner, name, noted)

    def _switch(self, conf, *_):
        self._are_switched = True
        return f"settings {conf}"

    def _watch_pools(self):
        pools = getattr(self._torch.cuda, "MemPool", None)
        if pools is None:  # before 2.5
            return
        make = pools.__init__

        @functools.wraps(make)
        def made(pool, allocator=None, use_on_oom=False, no_split=False, *more, **options):
            given = {"use_on_oom": use_on_oom, "no_split": no_split}
            make(pool, allocator, *more, **{name: value for name, value in given.items() if value}, **options)
            words = " ".join(name for name in ("no_split", "use_on_oom") if given[name])
            if words:
                self._note(f"pool {pool.id[0]},{pool.id[1]} {words}")

        pools.__init__ = made
