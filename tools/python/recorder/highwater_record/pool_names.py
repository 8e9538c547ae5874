"""Names the pool of each entry of a history, as PyTorch does itself since 2.12.

Before that, a snapshot names the pools of the segments that are left at its end alone: what a graph that was destroyed,
or a MemPool that was deleted, had asked for looks like memory of the common pool. A segment that is made while a capture
or a MemPool takes requests is that one's: a capture takes those of its own stream and of streams that have joined it,
which no entry tells from others. What is left at the end belongs to whom the snapshot says.
"""
import bisect
import collections
import dataclasses
import functools

from . import places

NAMED_SINCE = (2, 12)
NEWEST_FIRST_SINCE = (2, 10)  # which of several sessions that take a request serves it (get_pool)
COMMON = (0, 0)


@dataclasses.dataclass
class Session:
    pool: tuple | None           # known when a capture has ended
    stream: int | None           # None: requests of all streams
    begin: places.Moment
    end: places.Moment | None = None


class PoolNames:
    """@pre the release does not name them: is_needed()"""

    def __init__(self, torch, clock):
        self._torch = torch
        self._clock = clock
        self._sessions = []
        self._open = collections.defaultdict(list)  # by graph, or by pool, which may be opened again inside

    @staticmethod
    def is_needed(torch):
        return torch.__version__ < NAMED_SINCE

    def start(self):
        graph, memory = self._torch.cuda.CUDAGraph, self._torch.cuda.memory
        self._around(graph, "capture_begin", self._begin_capture)
        self._around(graph, "capture_end", self._end_capture)
        for name in [name for name in vars(memory) if name.startswith("_cuda_beginAllocate")]:
            self._around(memory, name, lambda _, pool: self._begin(tuple(pool), tuple(pool), None))
        for name in [name for name in vars(memory) if name.startswith("_cuda_endAllocate")]:
            self._around(memory, name, lambda _, pool: self._end(tuple(pool)))

    @staticmethod
    def _around(owner, name, after):
        function = getattr(owner, name)

        @functools.wraps(function)
        def told(*arguments, **options):
            result = function(*arguments, **options)
            after(*arguments)
            return result

        setattr(owner, name, told)

    def _begin(self, key, pool, stream):
        self._sessions.append(Session(pool, stream, self._clock.now()))
        self._open[key].append(self._sessions[-1])

    def _end(self, key):
        session = self._open[key].pop() if self._open[key] else None
        if session:
            session.end = self._clock.now()
        return session

    def _begin_capture(self, graph, *_):
        self._begin(id(graph), None, self._torch.cuda.current_stream().cuda_stream)

    def _end_capture(self, graph):
        session = self._end(id(graph))
        if session:
            session.pool = tuple(graph.pool())

    def write(self, snapshot):
        """Adds "pool_id" to the entries of each device."""
        for device, history in enumerate(snapshot["device_traces"]):
            segments = [segment for segment in snapshot["segments"] if segment.get("device", 0) == device]
            _name(history, self._spans(device, history), segments)

    def _spans(self, device, history):
        """[(begin, end, session)], the one that serves first in front."""
        known = [session for session in self._sessions if session.pool and session.begin.device == device]
        moments = sorted({moment for session in known for moment in (session.begin, session.end) if moment},
                         key=lambda moment: moment.counts)
        at = dict(zip(moments, places.positions(history, moments)))
        spans = [(at.get(session.begin), at.get(session.end) if session.end else len(history), session) for session in known]
        spans = [span for span in spans if span[0] is not None and span[1] is not None]
        return spans[::-1] if self._torch.__version__ >= NEWEST_FIRST_SINCE else spans


MAKES_MEMORY = ("segment_alloc", "segment_map")


def _name(history, spans, segments):
    left = Owners()
    for segment in segments:
        left.add(segment["address"], segment["total_size"], tuple(segment["segment_pool_id"]))
    last_made = {entry["addr"]: position for position, entry in enumerate(history) if entry["action"] in MAKES_MEMORY}
    owners = Owners()
    for position, entry in enumerate(history):
        action, address = entry["action"], entry.get("addr", 0)
        serving = _serving(position, entry["stream"], spans)
        if action in MAKES_MEMORY:
            known = left.of(address, None) if last_made[address] == position else None
            owners.add(address, entry["size"], known or serving)
        entry["pool_id"] = serving if action == "oom" else owners.of(address)


def _serving(position, stream, spans):
    """The pool of the session that takes a request: one of its own stream before others."""
    opened = [session for begin, end, session in spans if begin <= position < end]
    own = [session for session in opened if session.stream in (None, stream)]
    return (own or opened)[0].pool if opened else COMMON


class Owners:
    """Ranges of addresses that belong to private pools; a later one replaces what it overlaps."""

    def __init__(self):
        self._begins, self._ranges = [], []

    def add(self, begin, size, pool):
        place = bisect.bisect_left(self._begins, begin)
        first = place - 1 if place and self._ranges[place - 1][0] > begin else place
        last = bisect.bisect_left(self._begins, begin + size)
        self._begins[first:last], self._ranges[first:last] = [begin], [(begin + size, pool)]

    def of(self, address, otherwise=COMMON):
        place = bisect.bisect_right(self._begins, address) - 1
        return self._ranges[place][1] if place >= 0 and address < self._ranges[place][0] else otherwise
