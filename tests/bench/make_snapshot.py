"""Writes a synthetic PyTorch memory snapshot: make_snapshot.py FILE ENTRIES

The history is one that the real allocator could have made: blocks of distinct sizes from 10 MiB
on, each in a segment of its own, allocated and freed in turn, so that a replay finds every address
as recorded. Call stacks are shared dictionaries, as in real files.
"""

import pickle
import sys

MIB = 1 << 20
BLOCKS = 400
STACKS = 60
DEPTH = 24


def make_stacks():
    frames = [
        {"filename": f"/home/user/project/module_{i % 17}.py", "line": 10 + i, "name": f"function_{i}"}
        for i in range(STACKS * 4)
    ]
    return [[frames[(s * 7 + d * 3) % len(frames)] for d in range(DEPTH)] for s in range(STACKS)]


def make_snapshot(entry_count):
    stacks = make_stacks()
    sizes = [(10 + 2 * i) * MIB for i in range(BLOCKS)]
    addresses = []
    address = 0x7F0000000000
    for size in sizes:
        addresses.append(address)
        address += size
    trace = []
    time_us = 1_700_000_000_000_000

    def add(action, i):
        nonlocal time_us
        time_us += 3
        trace.append({"action": action, "addr": addresses[i], "size": sizes[i], "stream": 0,
                      "time_us": time_us, "compile_context": "N/A",
                      "frames": stacks[(i * 13 + len(trace)) % STACKS]})

    for i in range(BLOCKS):
        add("segment_alloc", i)
        add("alloc", i)
    while len(trace) < entry_count:
        i = (len(trace) // 3) % BLOCKS
        add("free_requested", i)
        add("free_completed", i)
        add("alloc", i)
    segments = [{
        "device": 0, "address": addresses[i], "total_size": sizes[i], "allocated_size": sizes[i],
        "active_size": sizes[i], "requested_size": sizes[i], "stream": 0, "segment_type": "large",
        "segment_pool_id": (0, 0), "is_expandable": False, "frames": [],
        "blocks": [{"address": addresses[i], "size": sizes[i], "requested_size": sizes[i],
                    "state": "active_allocated", "frames": []}],
    } for i in range(BLOCKS)]
    return {"segments": segments, "device_traces": [trace],
            "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "", "max_split_size": -1,
                                   "garbage_collection_threshold": 0.0,
                                   "expandable_segments": False},
            "external_annotations": []}


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[1], "wb") as file:
        pickle.dump(make_snapshot(int(sys.argv[2])), file)
