"""Checks exported files with nothing of Highwater's own; prints what it finds as JSON.

    check_export.py snapshot FILE   under an unpickler that refuses every class and function
    check_export.py perfetto FILE   against the rules of the Trace Event Format
    check_export.py pprof FILE      decoded by the rules of protocol buffers and of profile.proto
    check_export.py speedscope FILE against what speedscope's schema asks of sampled profiles
    check_export.py sqlite FILE     asked by Python's own SQLite
"""
import gzip
import json
import pickle
import pickletools
import sqlite3
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


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 0x80:
            return value, at


def fields_of(data):
    """{number: [values]} of one message; what is length-delimited stays bytes."""
    fields, at = {}, 0
    while at < len(data):
        tag, at = varint(data, at)
        value, at = varint(data, at)
        if tag & 7 == 2:
            assert at + value <= len(data)
            value, at = data[at:at + value], at + value
        else:
            assert tag & 7 == 0
        fields.setdefault(tag >> 3, []).append(value)
    return fields


def packed(data):
    values, at = [], 0
    while at < len(data):
        value, at = varint(data, at)
        values.append(value)
    return values


def number(fields, key):
    return fields.get(key, [0])[0]


def check_pprof(path):
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rb") as file:
        profile = fields_of(file.read())
    assert set(profile) <= {1, 2, 4, 5, 6, 14}
    strings = [text.decode("utf-8") for text in profile[6]]
    assert strings[0] == ""
    functions = {number(f, 1): (strings[number(f, 2)], strings[number(f, 4)]) for f in map(fields_of, profile.get(5, []))}
    locations = {}
    for location in map(fields_of, profile.get(4, [])):
        [line] = map(fields_of, location[4])
        locations[number(location, 1)] = [*functions[number(line, 1)], number(line, 2)]
    assert 0 not in functions and 0 not in locations
    samples = []
    for sample in map(fields_of, profile.get(2, [])):
        labels = {strings[number(label, 1)]: number(label, 3) for label in map(fields_of, sample.get(3, []))}
        stack = [locations[each] for each in packed(sample[1][0])]
        samples.append({"stack": stack[::-1], "values": packed(sample[2][0]), "labels": labels})
    types = [[strings[number(t, 1)], strings[number(t, 2)]] for t in map(fields_of, profile[1])]
    assert all(len(sample["values"]) == len(types) for sample in samples)
    return {"types": types, "default": strings[number(profile, 14)], "samples": samples}


def check_speedscope(path):
    with open(path, encoding="utf-8") as file:
        content = json.load(file)
    assert content["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    frames = content["shared"]["frames"]
    for frame in frames:
        assert isinstance(frame["name"], str) and set(frame) <= {"name", "file", "line", "col"}
    profiles = {}
    for profile in content["profiles"]:
        assert set(profile) == {"type", "name", "unit", "startValue", "endValue", "samples", "weights"}
        assert profile["type"] == "sampled" and profile["unit"] == "bytes"
        assert len(profile["samples"]) == len(profile["weights"])
        assert profile["endValue"] - profile["startValue"] == sum(profile["weights"])
        profiles[profile["name"]] = [
            {"stack": [[frames[place].get(key) for key in ("name", "file", "line")] for place in stack], "bytes": weight}
            for stack, weight in zip(profile["samples"], profile["weights"])]
    assert 0 <= content["activeProfileIndex"] < len(profiles)
    return {"profiles": profiles}


def check_sqlite(path):
    database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    assert database.execute("pragma integrity_check").fetchall() == [("ok",)]
    assert not database.execute("select 1 from operations where stack_id is not null and stack_id not in (select stack_id from stacks)").fetchall()
    assert not database.execute("select 1 from stacks where depth != (select count(*) from frames where frames.stack_id = stacks.stack_id)").fetchall()
    [peak] = database.execute("select max(reserved), max(allocated), max(requested), count(*) from operations").fetchall()
    by_site = database.execute("select site, sum(bytes) from operations join stacks using (stack_id) where action = 'alloc' "
                               "group by site order by 2 desc").fetchall()
    frames = database.execute("select stack_id, place, function, file, line from frames order by 1, 2").fetchall()
    actions = dict(database.execute("select action, count(*) from operations group by action"))
    return {"peak": dict(zip(("reserved", "allocated", "requested", "operations"), peak)), "by_site": by_site,
            "frames": frames, "actions": actions}


CHECKS = {"snapshot": check_snapshot, "perfetto": check_perfetto, "pprof": check_pprof, "speedscope": check_speedscope,
          "sqlite": check_sqlite}

if __name__ == "__main__":
    kind, name = sys.argv[1:]
    print(json.dumps(CHECKS[kind](name)))
