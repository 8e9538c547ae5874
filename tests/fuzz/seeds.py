"""First inputs of the fuzz targets, from files of this repository: seeds.py SOURCE_FOLDER OUTPUT_FOLDER

Each target gets a folder under its name; the targets' sources say what their inputs look like.
"""
import gzip
import io
import json
import lzma
import pickle
import sys
import tarfile
import zipfile
from pathlib import Path

OPTIONS = ["", "full", "adamw", "bf16", "4", "0", "true", "none", "1e9", "128,256", "zero3", "every-2", "chunked-8"]
SETTINGS = ["", "expandable_segments:True", "max_split_size_mb:128,garbage_collection_threshold:0.8",
            "roundup_power2_divisions:[256:1,512:2,>:8]", "backend:native,pinned_use_cuda_host_register:True",
            "graph_capture_record_stream_reuse:True", "max_non_split_rounding_mb:64"]


YAML = [
    "model_name_or_path: meta-llama/Llama-3.2-1B\nstage: sft\nfinetuning_type: lora\nlora_rank: 8\nlora_target: all\n"
    "cutoff_len: 2048\nper_device_train_batch_size: 1\ngradient_accumulation_steps: 8\nbf16: true\n",
    "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nfsdp_config:\n  fsdp_version: 2\n"
    "  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n  fsdp_offload_params: false\nmixed_precision: bf16\nnum_processes: 8\n",
    "base_model: gpt2\nsequence_len: 512\nmicro_batch_size: 2\noptimizer: adamw_torch\nadapter: qlora\nload_in_4bit: true\n"
    "datasets:\n  - path: a\n    type: alpaca\n",
    "a: &x {batch_size: 2}\nb: *x\nmodel:\n  _component_: torchtune.models.llama3.llama3_8b\ntokenizer:\n  max_seq_len: null\n"
    "batch_size: ${a.batch_size}\ndtype: bf16\nenable_activation_checkpointing: True\n"]
TOML = ["[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 1\nseq_len = 8192\nsteps = 10\n"
        "[parallelism]\ndata_parallel_shard_degree = -1\n[activation_checkpoint]\nmode = \"selective\"\n"
        "selective_ac_option = \"op\"\n[[x]]\na.b.c = [1, 2.5, {d = true}]\n",
        "model_name_or_path = \"gpt2\"\nper_device_train_batch_size = 4\nbf16 = true\n"]
JSON = ['{"train_micro_batch_size_per_gpu": 1, "gradient_accumulation_steps": "auto", "zero_optimization": {"stage": 3, '
        '"offload_optimizer": {"device": "cpu"}}, "bf16": {"enabled": true}, // comment\n}',
        '{"model_name_or_path": "gpt2", "per_device_train_batch_size": 4, "block_size": 128, "fsdp": "full_shard auto_wrap"}']
SCRIPTS = [
    "torchrun --nproc_per_node 8 train.py --model_name_or_path gpt2 --per_device_train_batch_size 4 --bf16 True --deepspeed ds.json",
    "#!/bin/bash\n#SBATCH --nodes=2\nSIZE=${1:-7B}\nexport CUDA_VISIBLE_DEVICES=0,1\n"
    "MODEL_ARGS=(--num-layers 32 --hidden-size 4096\n --num-attention-heads 32)\nif [ \"$SIZE\" = 7B ]; then TP=2; else TP=8; fi\n"
    "torchrun --nproc_per_node $2 pretrain_gpt.py ${MODEL_ARGS[@]} \\\n  --tensor-model-parallel-size $TP --seq-length 4096 "
    "--micro-batch-size 1 --global-batch-size $((8 * TP)) --bf16 'a b' \"c $d\"\n",
    "for i in 1 2; do A+=x; done\nDIR=`dirname $0`\ncase $A in x) B=1;; *) B=2;; esac\n"
    "accelerate launch --config_file fsdp.yaml sft.py --model_name_or_path Qwen/Qwen2.5-0.5B --max_length 1024 --packing\n"]
LINES = ["bash train.sh 7B 8", "torchrun train.py --deepspeed train.json", "accelerate launch --config_file train.yaml train.py",
         "train.yaml", "train.toml", "train.json", "train.sh", "llama3-8b-8gpu", "tune run full_finetune_single_device --config train.yaml"]
EDITS = ["preallocate:20GiB", "preallocate:1MiB,stream=7", "empty_cache:step", "empty_cache:every=2,of=allocations", "drop_record_stream",
         "free_earlier:site=train.py,by=2", "free_at_last_use", "move:site=*,stream=3", "move:site=train*,pool=2", "scale:site=train.py,by=0.5",
         "drop_step:1", "repeat_step:1,times=3", "then:x,left=kept", "beside:x,context=1GiB,order=share", "none,drop_step:0"]
LENGTHS = ["uniform:16..64", "lognormal:median=300,sigma=0.6,max=2048", "normal:mean=5,sd=2,max=9", "3", "choice:1,2,3"]
GRIDS = ['{"grid": {"model": "gpt2", "batch": [1, 2], "seq": 64, "tp": [1, 5]}, "cases": [{"model": "opt-125m", "seq": 64, "mode": "eval", '
         '"steps": 1, "measured": {"reserved_bytes": 700000000, "source": "x"}}]}',
         '{"grid": [{"model": "gpt2", "checkpoint": ["none", null, true], "seq": [[16, 32], 64]}]}']

# A recorded case of before, with fields of its own.
CASE_WITHOUT_OPTIONS = {
    "case": {"id": "x", "model": "gpt2", "batch": 2, "seq": {"seed": 1, "low": 4, "high": 8}, "checkpoint": "every2-reentrant",
             "sdpa_backend": "math", "attention": "sdpa", "lora": {"r": 4, "targets": ["c_attn"]}, "no_sync": True,
             "dist": {"kind": "fsdp2+tp", "dp": 2, "tp": 2, "mp": "bf16", "reshard": False}, "rig": {"event_lag": 2},
             "memory_limit_mib": None, "experts": None},
    "status": "ok", "torch": "2.6.0", "fake_device": True, "sequence_lengths": [4, 8], "markers": [],
    "gpu": {"name": "x", "total_memory": 84987084800, "capability": [8, 0]},
    "model": {"family": "gpt2", "config": {"model_type": "gpt2", "n_layer": 2}}}


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


def archives():
    member = b"a 1 1048576 0\nf 1\n"
    names = ["rank0.trace", "job/rank1.trace", "notes.md"]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(zipfile.ZipInfo(name), member)
    yield b"\1" + packed.getvalue()
    for kind, mode in ((0, "w"), (3, "w:xz")):
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode=mode) as archive:
            for name in names:
                about = tarfile.TarInfo(name)
                about.size = len(member)
                archive.addfile(about, io.BytesIO(member))
        yield bytes([kind]) + packed.getvalue()


def profiler_trace():
    """The beginning of a real one would be metadata: a few events of each kind, as it writes them."""
    def event(address, size, allocated):
        return {"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": 5.5 + allocated,
                "args": {"Total Reserved": 2 << 20, "Total Allocated": allocated, "Bytes": size, "Addr": address, "Device Id": 0,
                         "Device Type": 1, "Ev Idx": 3}}
    events = [{"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "ts": 1.0, "args": {"name": "python"}},
              event(4096, -512, 0), event(1 << 20, 1024, 1024), event(2 << 20, 512, 1536), event(1 << 20, -1024, 512)]
    return {"schemaVersion": 1, "deviceProperties": [{"id": 0, "totalGlobalMem": 1 << 34}], "traceEvents": events}


def baseline():
    parts = {"requested_bytes": 1000, "rounding_bytes": 24}
    share = {"name": "train.py:42 step", "count": 2, "without_line": "train.py step", **parts}
    return {"schema": "highwater.baseline/1", "subject": "run.pickle", "devices": [
        {"device": 0, "torch": "2.15", "settings": "", "peak_reserved_bytes": 1024, "parts": parts, "sites": [share],
         "categories": [share], "segments": []}]}


def piece_files():
    head = {"schema": "highwater.pieces/1", "version": "0.2.0", "arguments": ["scan", "folder"], "inputs": "0" * 16}
    yield json.dumps(head).encode() + b"\n" + b"\0\1\3abc" + b"\0\2\0"
    yield json.dumps({**head, "shard": 1, "shards": 1}).encode() + b"\n" + b"\0\0\3abc" + b"\xff\0\0"


def recorded_plans(source):
    for path in sorted((source / "tests/data/plans").glob("*.hwt.xz")):
        content = lzma.open(path).read()
        plan = content[content.index(b'{"schema": "highwater.observed_plan'):]
        text = plan.decode("latin-1")
        yield json.dumps(json.JSONDecoder().raw_decode(text)[0]).encode()


def plans(source):
    """What --from and the other options that describe a run read."""
    for target, texts in (("from_yaml", YAML), ("from_toml", TOML), ("from_json", JSON), ("from_script", SCRIPTS)):
        for text in texts:
            yield target, text.encode()
            for line in LINES if text == texts[0] else ():
                yield "from_line", f"{line}\n{text}".encode()
    for plan in recorded_plans(source):
        yield "from_recording", plan
    for path in sorted((source / "tests/data/messages").glob("*.log")):
        yield "log_text", path.read_bytes()
        for line in path.read_bytes().splitlines():
            yield "log_text", line
    for text in EDITS:
        yield "edit", text.encode()
    for text in LENGTHS:
        yield "lengths", b"\0" + text.encode()
    yield "lengths", b"\x01" + b"16\n700\r\n\n3\n"
    for text in GRIDS:
        yield "grid", text.encode()
    for path in sorted((source / "traces/recorded/zero3-ds19").glob("*.json.xz")):
        yield "recorded_case", b"\0" + lzma.open(path).read()
    yield "recorded_case", b"\0" + json.dumps(CASE_WITHOUT_OPTIONS).encode()
    tables = json.loads(lzma.open(source / "tests/data/reference/tables.json.xz").read())
    for first in range(0, len(tables["cases"]), 40):
        yield "recorded_case", b"\1" + json.dumps({**tables, "cases": tables["cases"][first:first + 3]}).encode()


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
    for keeps in (b"\0", b"\1"):
        yield "json_snapshot", keeps + json.dumps(snapshot()).encode()
    yield "profiler_trace", json.dumps(profiler_trace()).encode()
    for content in archives():
        yield "archive", content
    yield "baseline", json.dumps(baseline()).encode()
    for content in piece_files():
        yield "piece_file", content
    for command in range(5):
        yield "merge", bytes([command]) + b"\0\0\0\0" + b"\0\1\0\4" + bytes(4)
    yield from plans(source)
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
