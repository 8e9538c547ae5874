"""First inputs of the fuzz targets, from files of this repository: seeds.py SOURCE_FOLDER OUTPUT_FOLDER

Each target gets a folder under its name; the targets' sources say what their inputs look like.
"""
import gzip
import json
import lzma
import pickle
import sys
from pathlib import Path

OPTIONS = ["", "full", "adamw", "bf16", "4", "0", "true", "none", "1e9", "128,256", "zero3", "every-2", "chunked-8"]
SETTINGS = ["", "expandable_segments:True", "max_split_size_mb:128,garbage_collection_threshold:0.8",
            "roundup_power2_divisions:[256:1,512:2,>:8]", "backend:native,pinned_use_cuda_host_register:True",
            "graph_capture_record_stream_reuse:True", "max_non_split_rounding_mb:64"]


def chunks(trace):
    """The stream inside the chunks of a binary trace: 12 bytes of header, then length, bytes, checksum."""
    stream, at = b"", 12
    while length := int.from_bytes(trace[at:at + 4], "little"):
        stream += trace[at + 4:at + 4 + length]
        at += 8 + length
    return trace[10:11], stream


def zstd_frame(content):
    """One raw block of less than 256 bytes (RFC 8878, section 3.1.1)."""
    header = bytes.fromhex("28b52ffd20") + bytes([len(content)])
    return header + (len(content) << 3 | 1).to_bytes(3, "little") + content


def snapshot():
    frame = {"filename": "train.py", "line": 3, "name": "step"}
    block = {"address": 2 << 20, "size": 1 << 20, "requested_size": 1 << 20, "state": "active_allocated", "frames": [frame]}
    segment = {"device": 0, "address": 2 << 20, "total_size": 2 << 20, "stream": 0, "segment_type": "large",
               "segment_pool_id": (0, 0), "is_expandable": False, "frames": [frame], "active_size": 1 << 20,
               "allocated_size": 1 << 20, "requested_size": 1 << 20,
               "blocks": [block, {**block, "address": 3 << 20, "state": "inactive"}]}
    entry = {"action": "alloc", "addr": 2 << 20, "size": 1 << 20, "stream": 0, "time_us": 5, "device": 0,
             "frames": [frame]}
    actions = ["segment_alloc", "alloc", "free_requested", "free_completed", "oom", "snapshot"]
    return {"segments": [segment], "device_traces": [[{**entry, "action": action} for action in actions]],
            "allocator_settings": {"expandable_segments": False}}


def seeds(source):
    for path in sorted((source / "traces/recorded/fake").glob("*.hwt.xz"))[:8]:
        content = lzma.open(path).read()
        kind, stream = chunks(content)
        yield "binary_trace", (b"\1" if kind == b"\2" else b"\0") + stream[:20000]
    for path in sorted((source / "tests/data/conformance").rglob("*.trace"))[:20]:
        yield "text_trace", path.read_bytes()[:20000]
    models = source / "tests/data/models"
    for line in (models / "reference.json").read_text().splitlines():
        if line.startswith("{"):
            yield "config", line.rstrip(",").encode()
    for model in json.loads((models / "transformers_counts.json").read_text()):
        yield "config", json.dumps(model["config"]).encode()
    for protocol in range(2, 6):
        for keeps in (b"\0", b"\1"):
            yield "unpickler", keeps + pickle.dumps(snapshot(), protocol=protocol)
    plain = pickle.dumps(snapshot(), protocol=4)
    yield "compressed", b"\0" + gzip.compress(plain, mtime=0)
    yield "compressed", b"\1" + lzma.compress(plain)
    yield "compressed", b"\2" + zstd_frame(plain[:200])
    for row in range(110):
        for value in OPTIONS:
            yield "plan_options", bytes([row]) + value.encode()
    for text in SETTINGS:
        yield "settings", text.encode()


def main(source, output):
    for number, (target, content) in enumerate(seeds(Path(source))):
        folder = Path(output) / target
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"seed-{number}").write_bytes(content)


if __name__ == "__main__":
    main(*sys.argv[1:])
