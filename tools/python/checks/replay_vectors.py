#!/usr/bin/env python3
"""Replays conformance vectors in the installed PyTorch, on a simulated CUDA device.

  replay_vectors.py VECTOR_DIR [--only NAME,...] [--write DIR]   compare with .expected and .events
  replay_vectors.py --settings CASES.tsv [--write FILE]          what torch makes of settings strings

Without --write it prints what differs and exits with 1 when something does. With --write it records:
each NAME.trace of VECTOR_DIR is copied to DIR beside the NAME.expected and NAME.events of this
release. The formats are described in tests/data/conformance/README.md. The CUDA libraries that torch
loads must be simulated ones that (1) hand out addresses upward, one range for allocations and one for
reservations, (2) take FAKE_CUDA_CAPACITY, FAKE_CUDA_ADDRESS, FAKE_CUDA_EVENT_LAG and
FAKE_CUDA_LOG from the environment, at the first call after the import of torch, and (3) with FAKE_CUDA_FREE_ASYNC=1 let cudaFree not wait for events.
"""

import argparse
import collections
import contextlib
import ctypes
import json
import lzma
import os
import sys
import tempfile
from pathlib import Path

SEGMENT_BASE = 0x7F0000000000  # where the vectors' address policy starts, for device allocations
RESERVATION_BASE = 0x6F0000000000  # and for expandable segments
COUNTED = ("allocation", "segment", "active", "inactive_split", "allocated_bytes", "reserved_bytes",
           "active_bytes", "inactive_split_bytes", "requested_bytes")
OVERSIZE = ("oversize_allocations", "oversize_segments")
COUNTERS = ("num_alloc_retries", "num_ooms", "num_sync_all_streams", "num_device_alloc",
            "num_device_free", "max_split_size")
KEPT: list[object] = []  # pools whose last use is gone must not be deleted, too
DEVICE_ACTIONS = ("segment_alloc", "segment_free", "segment_map", "segment_unmap")


def read(path):
    """The lines of `path` or `path`.xz that are no comments; None when neither is there."""
    for candidate, opener in ((path, open), (Path(f"{path}.xz"), lzma.open)):
        if candidate.exists():
            with opener(candidate, "rt") as file:
                return [line.rstrip("\n") for line in file if line.strip() and line[0] != "#"]
    return None


class Trace:
    """Header and operations of a NAME.trace file."""

    def __init__(self, lines):
        self.conf, self.capacity, self.fraction, self.reuse, self.operations = "", 0, None, False, []
        for line in lines:
            word, _, rest = line.partition(" ")
            if word == "conf":
                self.conf = rest
            elif word == "device":
                self.capacity = int(rest)
            elif word == "fraction":
                self.fraction = float(rest)
            elif word == "addr":
                self.reuse = rest == "reuse"
            else:
                self.operations.append((word, rest if word == "setconf" else rest.split()))


def pool_id(text):
    """(K, 0) of "K", (A, B) of "A,B"."""
    capture, _, user = text.partition(",")
    return int(capture), int(user or 0)


class Replay:
    """Carries out the operations of a trace in torch."""

    def __init__(self, torch, trace):
        self.torch, self.trace = torch, trace
        self.tensors, self.stream_of, self.used_on, self.sizes, self.pools = {}, {}, {}, {}, {}
        self.captures = {}  # pool -> stream and graph
        torch.cuda.init()
        self.device = torch.device("cuda", 0)
        # Created together, so that their handles ascend as the numbers of the streams do.
        self.streams = [torch.cuda.default_stream()] + [torch.cuda.Stream() for _ in range(31)]

    def allocated(self):
        return self.torch._C._cuda_memoryStats(0)["allocated_bytes"]["all"]["current"]

    def operation_a(self, name, size, stream):
        self.torch.cuda.set_stream(self.streams[int(stream)])
        before = self.allocated()
        try:
            tensor = self.torch.empty(int(size), dtype=self.torch.uint8, device=self.device)
        except self.torch.cuda.OutOfMemoryError:
            self.sizes[name] = None
            return
        self.sizes[name] = self.allocated() - before
        if int(size):
            self.tensors[name], self.stream_of[name] = tensor, int(stream)
            self.used_on[name] = set()

    def operation_f(self, name):
        self.tensors.pop(name, None)

    def operation_r(self, name, stream):
        if name in self.tensors:
            self.tensors[name].record_stream(self.streams[int(stream)])
            self.used_on[name] |= {int(stream)} - {self.stream_of[name]}

    def operation_e(self, stream):
        self.streams[int(stream)].synchronize()

    def operation_E(self):
        self.torch.cuda.synchronize()

    def operation_c(self):
        self.torch.cuda.empty_cache()

    def operation_p(self):
        self.torch.cuda.reset_peak_memory_stats()

    def operation_pool_begin(self, pool, *options):
        if "capture" in options:
            self.begin_capture(pool)
        elif options and pool not in self.pools:
            self.pools[pool] = self.torch.cuda.MemPool(**dict.fromkeys(options, True))
            KEPT.append(self.pools[pool])
            assert self.pools[pool].id == pool_id(pool), f"name the pool {self.pools[pool].id}"
            self.torch._C._cuda_beginAllocateToPool(0, pool_id(pool))
            self.torch._C._cuda_releasePool(0, pool_id(pool))  # the use of the object itself
        else:
            self.torch._C._cuda_beginAllocateToPool(0, pool_id(pool))

    def begin_capture(self, pool):
        """On the stream of the next allocation, which all of the session use."""
        stream = self.streams[int(next(rest[2] for word, rest in self.ahead if word == "a"))]
        graph = self.torch.cuda.CUDAGraph()
        KEPT.append(graph)
        self.captures[pool] = stream, graph
        self.torch.cuda.set_stream(stream)
        graph.capture_begin(pool=pool_id(pool))

    def operation_pool_end(self, pool):
        if pool in self.captures:
            stream, graph = self.captures.pop(pool)
            self.torch.cuda.set_stream(stream)
            graph.capture_end()
            self.torch.cuda.set_stream(self.streams[0])
            return
        end = getattr(self.torch._C, "_cuda_endAllocateToPool", None)  # the name since 2.7
        (end or self.torch._C._cuda_endAllocateCurrentStreamToPool)(0, pool_id(pool))

    def operation_pool_release(self, pool):
        self.torch._C._cuda_releasePool(0, pool_id(pool))

    def operation_setconf(self, text):
        self.torch.cuda.memory._set_allocator_settings(text)

    def run(self):
        torch, trace = self.torch, self.trace
        if trace.fraction is not None:
            torch.cuda.set_per_process_memory_fraction(trace.fraction)
        torch.cuda.memory._record_memory_history(
            context=None, stacks="python", max_entries=20 * len(trace.operations) + 1000)
        failures = []
        for number, (word, rest) in enumerate(trace.operations):
            self.ahead = trace.operations[number:]
            try:
                operation = getattr(self, "operation_" + word)
                operation(rest) if word == "setconf" else operation(*rest)
            except RuntimeError as error:
                failures.append(f"operation {number} {word}: {str(error).splitlines()[0]}")
        stats = torch.cuda.memory_stats_as_nested_dict()
        snapshot = torch.cuda.memory._snapshot()
        return stats, snapshot, failures


class Addresses:
    """Addresses as the vectors' policy gives them: each range starts at its base."""

    def __init__(self, events):
        self.starts = {}
        for event in events:
            base = {"segment_alloc": SEGMENT_BASE, "segment_map": RESERVATION_BASE}.get(event["action"])
            if base:
                self.starts.setdefault(base, event["addr"])

    def __call__(self, address):
        below = [(start, base) for base, start in self.starts.items() if start <= address]
        start, base = max(below)
        return address - start + base


class Segments:
    """Where the segments lie that torch holds: device allocations and mapped ranges."""

    def __init__(self, capacity):
        self.reserved = capacity + capacity // 8  # of a reservation, before rounding up
        self.fixed, self.mapped, self.reservations = {}, {}, set()

    def apply(self, event):
        address, size = event["addr"], event["size"]
        if event["action"] == "segment_alloc":
            self.fixed[address] = size
        elif event["action"] == "segment_free":
            del self.fixed[address]
        elif event["action"] == "segment_map":
            if not any(0 <= address - start < self.reserved for start in self.reservations):
                self.reservations.add(address)
            self.mapped[address] = size
        elif event["action"] == "segment_unmap":
            self.unmap(address, address + size)

    def unmap(self, begin, end):
        for start, size in list(self.mapped.items()):
            if start < end and begin < start + size:
                del self.mapped[start]
                if start < begin:
                    self.mapped[start] = begin - start
                if end < start + size:
                    self.mapped[end] = start + size - end
        # A reservation without mapped memory is given back.
        self.reservations = {start for start in self.reservations
                             if any(0 <= at - start < self.reserved for at in self.mapped)}

    def holding(self, address):
        """Start of the allocation, or of the contiguous mapped range, that holds `address`."""
        for start, size in self.fixed.items():
            if start <= address < start + size:
                return start
        start = max(at for at in self.mapped if at <= address)
        ends = {at + size: at for at, size in self.mapped.items()}
        while start not in self.reservations and start in ends:
            start = ends[start]
        return start


def device_use(log):
    """(bytes in use, most bytes in use) by the lines of the device's log."""
    used = peak = 0
    sizes = {}
    for line in log:
        words = line.split()
        if words[0] == "malloc" and words[1] != "failed":
            sizes[words[1]] = int(words[2])
            used += int(words[2])
        elif words[0] == "free" and words[1] in sizes:
            used -= sizes.pop(words[1])
        elif words[:2] == ["create", "handle"]:
            sizes[words[2]] = int(words[3])
            used += int(words[3])
        elif words[:2] == ["release", "handle"]:
            used -= sizes.pop(words[2])
        peak = max(peak, used)
    return used, peak


def events_of(word, rest, replay, events):
    """Takes the events of one operation from the queue `events`."""
    def take_while(actions):
        while events and events[0]["action"] in actions:
            yield events.popleft()

    if word == "a" and (replay.sizes[rest[0]] is None or int(rest[1])):
        while events:
            event = events.popleft()
            yield event
            if event["action"] == ("alloc" if replay.sizes[rest[0]] is not None else "oom"):
                return
    elif word == "f" and rest[0] in replay.used_on:
        yield events.popleft()  # free_requested
        waits = replay.used_on.pop(rest[0])
        if not waits:
            yield events.popleft()  # free_completed
    elif word == "c":
        yield from take_while(("free_completed", "segment_free", "segment_unmap"))


def allocation_line(rest, replay, last, segments, address):
    name = rest[0]
    if replay.sizes[name] is None:
        return f"{name} OOM 0 0"
    if not int(rest[1]):
        return f"{name} 0x0 0x0 0"
    segment = segments.holding(last["addr"])
    return f"{name} {address(last['addr']):#x} {address(segment):#x} {replay.sizes[name]}"


def event_line(number, event, numbers, address):
    where = event["device_free"] if event["action"] == "oom" else address(event["addr"])
    return f"{number} {event['action']} {where:#x} {event['size']} {numbers[event['stream']]}"


def stat_lines(stats):
    for name in COUNTED:
        for kind in ("all", "small_pool", "large_pool"):
            value = stats[name][kind]
            yield f"stat {name}.{kind} " + number_row(value)
    for name in OVERSIZE:
        yield f"stat {name} " + number_row(stats[name])
    for name in COUNTERS:
        yield f"counter {name} {stats[name]}"


def number_row(value):
    return " ".join(str(value[key]) for key in ("current", "peak", "allocated", "freed"))


def segment_lines(segments, numbers, address):
    for segment in sorted(segments, key=lambda s: address(s["address"])):
        owner = segment["segment_pool_id"]
        yield (f"segment {address(segment['address']):#x} {segment['total_size']} "
               f"{segment['allocated_size']} {segment['active_size']} {segment['requested_size']} "
               f"{numbers[segment['stream']]} {segment['segment_type']} "
               f"{'expandable' if segment['is_expandable'] else 'fixed'} {owner[0]},{owner[1]}")
        for block in segment["blocks"]:
            state = {"active_awaiting_free": "active_pending_free"}.get(block["state"], block["state"])
            requested = 0 if state == "inactive" else block["requested_size"]
            yield f"block {address(block['address']):#x} {block['size']} {requested} {state}"


def replay_trace(lines):
    """(expected lines, event lines, failures of operations) of one trace in this torch."""
    import torch
    trace = Trace(lines)
    replay = Replay(torch, trace)
    stats, snapshot, failures = replay.run()
    numbers = {stream.cuda_stream: i for i, stream in enumerate(replay.streams)}
    queue = collections.deque(e for e in snapshot["device_traces"][0] if e["action"] != "snapshot")
    address, segments = Addresses(queue), Segments(trace.capacity)
    expected, events = [], []
    for number, (word, rest) in enumerate(trace.operations):
        last = None
        for last in events_of(word, rest, replay, queue):
            if last["action"] in DEVICE_ACTIONS:
                segments.apply(last)
            events.append(event_line(number, last, numbers, address))
        if word == "a":
            expected.append(allocation_line(rest, replay, last, segments, address))
    events += [event_line(len(trace.operations), event, numbers, address) for event in queue]
    with open(os.environ["FAKE_CUDA_LOG"]) as log:
        used, peak = device_use(log)
    expected += ["end", *stat_lines(stats), f"device {trace.capacity} {used} {peak}"]
    expected += segment_lines(snapshot["segments"], numbers, address)
    return expected, events, failures


def read_environment():
    """Fake libraries of this project read it at the first call, which a fork counts as."""
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(f"libcudart.so.{sys.modules['torch'].version.cuda.split('.')[0]}").fakecuda_read_environment()


def in_child(environment, work):
    """What `work` returns in a child process, where torch's CUDA state is fresh."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.environ.update(environment)
        try:
            read_environment()
            result = work()
        except BaseException as error:  # reported by the parent, whatever it was
            result = {"error": f"{type(error).__name__}: {error}"}
        with os.fdopen(writer, "w") as out:
            json.dump(result, out)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as file:
        text = file.read()
    _, status = os.waitpid(child, 0)
    return json.loads(text) if text else {"error": f"the process ended with status {status}"}


def environment_of(trace):
    return {"PYTORCH_CUDA_ALLOC_CONF": trace.conf, "FAKE_CUDA_CAPACITY": str(trace.capacity),
            "FAKE_CUDA_ADDRESS": "first-fit" if trace.reuse else "bump",
            "FAKE_CUDA_EVENT_LAG": "1000000000000000", "FAKE_CUDA_FREE_ASYNC": "1"}


def normalised(events):
    """Entries whose order comes from a hash table, as sets (see the README of the vectors)."""
    result, run, key = [], [], None
    for line in events:
        words = line.split()
        own = (words[0], words[1]) if words[1] in ("free_completed", "segment_free", "segment_unmap") else None
        if own is None or own != key:
            result += sorted(run)
            run = []
        key = own
        if own:
            run.append(line)
        else:
            result.append(line)
    return result + sorted(run)


def first_difference(what, wanted, got):
    for i in range(max(len(wanted), len(got))):
        a, b = (lines[i] if i < len(lines) else "" for lines in (wanted, got))
        if a != b:
            return f"{what} line {i + 1}: expected '{a}', got '{b}'"
    return None


def compare(folder, name, expected, events, failures):
    difference = first_difference("expected", read(folder / f"{name}.expected"), expected)
    wanted = read(folder / f"{name}.events")
    if wanted is not None:
        difference = first_difference("events", normalised(wanted), normalised(events)) or difference
    return "; ".join(failures[:1] + ([difference] if difference else []))


def write(folder, name, trace_lines, expected, events):
    folder.mkdir(parents=True, exist_ok=True)
    for ending, lines in ((".trace", trace_lines), (".expected", expected), (".events", events)):
        (folder / (name + ending)).write_text("\n".join(lines) + "\n")


def run_vectors(options):
    folder, differing = Path(options.folder), 0
    names = sorted({p.name.split(".trace")[0] for p in folder.iterdir() if ".trace" in p.name})
    if options.only:
        names = options.only.split(",")
    for name in names:
        lines = read(folder / f"{name}.trace")
        with tempfile.NamedTemporaryFile() as log:
            result = in_child(environment_of(Trace(lines)) | {"FAKE_CUDA_LOG": log.name},
                              lambda: replay_trace(lines))
        if "error" in result:
            print(f"{name}: {result['error']}")
            differing += 1
            continue
        if options.write:
            write(Path(options.write), name, lines, *result[:2])
            continue
        difference = compare(folder, name, *result)
        differing += bool(difference)
        if difference:
            print(f"{name}: {difference}", flush=True)
    print(f"{len(names) - differing} agree, {differing} differ" if not options.write else "written")
    return 1 if differing else 0


def divisions(table):
    """Entries of "1", "2" ... "32768", as the vectors list them."""
    return ",".join(str(table[str(1 << i)]) for i in range(16))


def settings_of(torch):
    """What torch made of the settings string, as in conf_cases.tsv as far as torch tells."""
    torch.empty(1, device="cuda")
    values = torch.cuda.memory._snapshot()["allocator_settings"]
    limit = values["max_split_size"]
    return (f"max_split_size={'unlimited' if limit == -1 else limit % 2**64};"
            f"garbage_collection_threshold={values['garbage_collection_threshold']:.17g};"
            f"expandable_segments={values['expandable_segments']:d};"
            f"release_lock_on_cudamalloc={values['release_lock_on_cudamalloc']:d};"
            f"roundup_power2_divisions={divisions(values['roundup_power2_divisions'])}")


def settings_line(conf):
    def work():
        import torch
        try:
            return ["ok", settings_of(torch)]
        except (RuntimeError, ValueError, IndexError) as error:
            reason = str(error).splitlines()[0]
            return ["error", reason.rpartition("please report a bug to PyTorch. ")[2]]

    result = in_child({"PYTORCH_CUDA_ALLOC_CONF": conf}, work)
    return "\t".join([conf, *result] if isinstance(result, list) else [conf, "crash", result["error"]])


def run_settings(options):
    """Asks torch about the first column of a file of settings cases; prints or writes the answers."""
    with open(options.folder) as file:
        lines = [settings_line(line.rstrip("\n").split("\t")[0]) for line in file if line[0] != "#"]
    with open(options.write, "w") if options.write else sys.stdout as out:
        out.write("\n".join(lines) + "\n")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", help="with --settings: the file of cases")
    parser.add_argument("--settings", action="store_true")
    parser.add_argument("--only")
    parser.add_argument("--write")
    options = parser.parse_args()
    import torch  # noqa: F401  (before the forks: it takes seconds)
    sys.exit(run_settings(options) if options.settings else run_vectors(options))


if __name__ == "__main__":
    main()
