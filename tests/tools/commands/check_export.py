"""Checks exported files with nothing of Highwater's own; prints what it finds as JSON.

    check_export.py snapshot FILE   under an unpickler that refuses every class and function
    check_export.py perfetto FILE   against the rules of the Trace Event Format
"""
import gzip
import json
import pickle
import pickletools
import sys

# What the reader of PyTorch's viewer knows (torch/utils/viz/MemoryViz.js).
VIEWER_OPCODES = set(
    """APPEND APPENDS BINGET LONG_BINGET BINPUT LONG_BINPUT MEMOIZE BININT BININT1 BININT2 LONG1
    BINFLOAT BINUNICODE SHORT_BINUNICODE EMPTY_DICT EMPTY_LIST EMPTY_TUPLE DICT LIST SETITEM SETITEMS
    TUPLE TUPLE1 TUPLE2 TUPLE3 NONE NEWTRUE NEWFALSE MARK FRAME PROTO STOP""".split()
)


class NoGlobals(pickle.Unpickler):
    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"{module}.{name} is not data")


def peak_reserved(segments, entries):
    reserved = peak = sum(segment["total_size"] for segment in segments)
    for entry in reversed(entries):
        if entry["action"] in ("segment_alloc", "segment_map"):
            reserved -= entry["size"]
        elif entry["action"] in ("segment_free", "segment_unmap"):
            reserved += entry["size"]
            peak = max(peak, reserved)
    assert reserved >= 0
    return peak


def peak_requested(segments, entries):
    """Of active blocks; those older than the entries live from the start."""
    final = {
        block["address"]: block["requested_size"]
        for segment in segments
        for block in segment["blocks"]
        if block["state"] != "inactive"
    }
    live = dict(final)
    requested = peak = sum(live.values())
    for entry in reversed(entries):
        if entry["action"] == "alloc":
            assert live.pop(entry["addr"]) == entry["size"]
            requested -= entry["size"]
        elif entry["action"] == "free_completed":
            assert entry["addr"] not in live
            live[entry["addr"]] = entry["size"]
            requested += entry["size"]
            peak = max(peak, requested)
    return peak


def check_segment(segment):
    position = segment["address"]
    for block in segment["blocks"]:
        assert block["address"] == position and block["size"] > 0
        position += block["size"]
    assert position == segment["address"] + segment["total_size"]
    active = [b for b in segment["blocks"] if b["state"] != "inactive"]
    assert segment["active_size"] == sum(b["size"] for b in active)
    assert segment["requested_size"] == sum(b["requested_size"] for b in active)


def check_snapshot(path):
    with open(path, "rb") as file:
        data = file.read()
    opcodes = {opcode.name for opcode, _, _ in pickletools.genops(data)}
    assert opcodes <= VIEWER_OPCODES, opcodes - VIEWER_OPCODES
    with open(path, "rb") as file:
        snapshot = NoGlobals(file).load()
    devices = []
    for index, entries in enumerate(snapshot["device_traces"]):
        segments = [s for s in snapshot["segments"] if s["device"] == index]
        for segment in segments:
            check_segment(segment)
        times = [entry["time_us"] for entry in entries if "time_us" in entry]
        assert times == sorted(times)
        if segments or entries:
            devices.append(
                {
                    "device": index,
                    "entries": len(entries),
                    "peak_reserved": peak_reserved(segments, entries),
                    "peak_requested": peak_requested(segments, entries),
                    "ooms": sum(entry["action"] == "oom" for entry in entries),
                    "stacks": sum(bool(entry.get("frames")) for entry in entries),
                }
            )
    return {"devices": devices, "annotations": len(snapshot["external_annotations"])}


def check_slices(slices):
    """Complete events of one thread nest or lie apart."""
    open_ends = []
    for begin, minus_duration in sorted((s["ts"], -s["dur"]) for s in slices):
        while open_ends and open_ends[-1] <= begin:
            open_ends.pop()
        end = begin - minus_duration
        assert not open_ends or end <= open_ends[-1], "slices overlap"
        open_ends.append(end)


def check_perfetto(path):
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8") as file:
        trace = json.load(file)
    counters, slices, instants = {}, {}, {}
    for event in trace["traceEvents"]:
        assert isinstance(event["name"], str) and isinstance(event["pid"], int)
        assert isinstance(event["tid"], int)
        if event["ph"] == "M":
            assert event["name"] in ("process_name", "thread_name") and event["args"]["name"]
            continue
        assert isinstance(event["ts"], int) and event["ts"] >= 0
        if event["ph"] == "C":
            assert all(isinstance(value, int) for value in event["args"].values())
            points = counters.setdefault((event["pid"], event["name"]), [])
            assert not points or points[-1][0] <= event["ts"]
            points.append((event["ts"], event["args"]["bytes"]))
        elif event["ph"] == "X":
            assert isinstance(event["dur"], int) and event["dur"] >= 0
            slices.setdefault((event["pid"], event["tid"]), []).append(event)
        else:
            assert event["ph"] == "i" and event["s"] in ("g", "p", "t")
            instants[event["name"]] = instants.get(event["name"], 0) + 1
    for thread in slices.values():
        check_slices(thread)
    return {
        "counters": {name: max(v for _, v in points) for (_, name), points in counters.items()},
        "points": sum(map(len, counters.values())),
        "slices": sum(map(len, slices.values())),
        "instants": instants,
    }


if __name__ == "__main__":
    kind, name = sys.argv[1:]
    print(json.dumps({"snapshot": check_snapshot, "perfetto": check_perfetto}[kind](name)))
