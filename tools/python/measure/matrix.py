"""Writes cases/matrix.json: what to measure on a GPU, most valuable first.

  a  probes: facts of the allocator and of the libraries below it, with and without expandable segments
  b  models x precision x attention x size x checkpointing x optimizer, a covering selection:
     - every combination of values of any three of the six axes, with the sizes small and medium
     - every pair of the other axes with a batch that nearly fills 16 GiB
     - each model, and each precision with each attention and optimizer, with a batch that needs more than 80 GiB
  c  ranks of jobs: DDP, FSDP1, FSDP2, tensor parallel, both, over the process group that does nothing
  d  allocator settings, sequences of varying length that fragment, runs that run out of memory

The batches of the two large sizes come from `highwater simulate --find-batch`, once, when the list is written: on
every device the cases are the same.
"""

import itertools
import json
import subprocess
from pathlib import Path

from .covering import covering
from .halves import canonical

FIRST = Path(__file__).resolve().parent / "cases" / "first.json"  # runs before the matrix

# Billions of parameters: precise enough to omit what cannot fit.
MODELS = {"gpt2": 0.124, "opt-125m": 0.125, "opt-350m": 0.331, "bloom-560m": 0.559, "gpt-neo-125m": 0.125,
          "llama-160m": 0.162, "llama-1b": 1.236, "llama-3b": 3.213, "qwen2-0.5b": 0.494}
EAGER_ONLY = ("bloom-560m", "gpt-neo-125m")  # no sdpa in transformers 5
AXES = {"model": list(MODELS), "precision": ["fp32", "bf16", "amp-bf16"], "attention": ["sdpa", "eager"],
        "checkpoint": ["none", "nonreentrant"], "optimizer": ["adamw-foreach", "adamw-fused", "sgd"]}
SIZES = {"small": {"batch": 1, "seq": 128}, "medium": {"batch": 4, "seq": 512}}
LARGE_SEQ = 1024
NEARLY_16 = "15.5GiB"  # of the allocator: context and kernels take the rest
ABOVE_80 = ("92GiB", 80 * 2**30)
STATE_BYTES = {"adamw-foreach": 18, "adamw-fused": 16, "sgd": 8}  # of a parameter in fp32; half of it in bf16

SETTINGS = {"expandable": "expandable_segments:True", "split64": "max_split_size_mb:64",
            "split256": "max_split_size_mb:256", "round4": "roundup_power2_divisions:4",
            "gc60": "garbage_collection_threshold:0.6",
            "roundmap": "roundup_power2_divisions:[256:1,512:2,1024:4,>:8]"}
VARYING = {"seed": 3, "low": 64, "high": 512}


class MatrixError(Exception):
    """The list cannot be written; the message explains why."""


def has_attention(row):
    return row["attention"] == "eager" or row["model"] not in EAGER_ONLY


def fits_16(row):
    """Whether weights, gradients and optimizer states leave room for a batch in 16 GiB."""
    width = 0.5 if row["precision"] == "bf16" else 1
    return has_attention(row) and MODELS[row["model"]] * STATE_BYTES[row["optimizer"]] * width < 14


def fields_of(row):
    """An axis row as fields of a case; defaults are omitted."""
    optimizer, _, impl = row["optimizer"].partition("-")
    fields = {"model": row["model"], "precision": row["precision"], "attention": row["attention"],
              "checkpoint": row["checkpoint"], "optimizer": optimizer, "impl": impl or "foreach"}
    defaults = {"precision": "fp32", "attention": "sdpa", "checkpoint": "none", "optimizer": "adamw",
                "impl": "foreach"}
    return {key: value for key, value in fields.items() if defaults.get(key) != value}


def name_of(row):
    checkpoint = {"none": "", "nonreentrant": "-ckpt"}[row["checkpoint"]]
    return f"{row['model']}-{row['precision'].replace('-', '')}-{row['attention']}{checkpoint}-{row['optimizer']}"


def largest_batch(program, row, capacity):
    """(batch, bytes reserved at the peak); as the program simulates it. @raises MatrixError"""
    optimizer, _, impl = row["optimizer"].partition("-")
    command = [
        program, "simulate", "--model", row["model"], "--seq", str(LARGE_SEQ), "--precision", row["precision"],
        "--attention", row["attention"], "--checkpoint", "none" if row["checkpoint"] == "none" else "full",
        "--optimizer", optimizer, "--optimizer-impl", impl or "foreach", "--capacity", capacity, "--find-batch",
        "--format", "json"]
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError as error:
        raise MatrixError(f"{program} cannot be run: {error.strerror}; build it and give --highwater") from None
    if done.returncode != 0:
        raise MatrixError(f"{name_of(row)}: {done.stderr.strip()}")
    search = json.loads(done.stdout)["find_batch"]
    if not search["largest"]:
        raise MatrixError(f"{name_of(row)}: not even one sequence fits in {capacity}")
    reserved = next(t["peak_reserved_bytes"] for t in search["trials"] if t["batch"] == search["largest"])
    return search["largest"], reserved


def probes():
    kinds = {"context": {"kind": "context"}, "rounding": {"kind": "rounding"}, "kernels": {"kind": "kernels"},
             **{f"matmul-{dtype}": {"kind": "matmul", "dtype": dtype} for dtype in ("float32", "bfloat16", "float16")}}
    for name, probe in kinds.items():
        yield {"id": f"probe-{name}", "probe": probe, "stacks": "python"}
    for name in ("rounding", "matmul-bfloat16"):
        yield {"id": f"probe-{name}-expandable", "probe": kinds[name], "alloc_conf": SETTINGS["expandable"],
               "stacks": "python"}


def small_and_medium():
    axes = {**AXES, "size": list(SIZES)}
    for row in covering(axes, itertools.combinations(axes, 3), has_attention):
        size = SIZES[row["size"]]
        yield {"id": f"{name_of(row)}-b{size['batch']}s{size['seq']}", **fields_of(row), **size}


def large(program, rows, capacity, least=0):
    for row in rows:
        batch, reserved = largest_batch(program, row, capacity)
        if reserved < least:
            raise MatrixError(f"{name_of(row)}: the largest batch in {capacity} takes {reserved} bytes")
        yield {"id": f"{name_of(row)}-b{batch}s{LARGE_SEQ}", **fields_of(row), "batch": batch, "seq": LARGE_SEQ}


def nearly_16(program):
    return large(program, covering(AXES, itertools.combinations(AXES, 2), fits_16), NEARLY_16)


def above_80(program):
    interactions = [("model",), ("precision", "attention"), ("precision", "optimizer"), ("checkpoint",)]
    capacity, least = ABOVE_80
    return large(program, covering(AXES, interactions, has_attention), capacity, least)


def of_jobs():
    def case(name, model, dist, **more):
        small = {"batch": 2, "seq": 256 if model == "gpt2" else 512}
        return {"id": name, "model": model, **small, **more, "dist": {**dist, "backend": "fake"}}

    mixed = {"mp": "bf16", "reduce": "fp32"}
    for world in (2, 8, 64):
        yield case(f"gpt2-ddp{world}", "gpt2", {"kind": "ddp", "world": world})
        yield case(f"llama-160m-fsdp2x{world}", "llama-160m", {"kind": "fsdp2", "world": world}, init="meta")
        yield case(f"llama-160m-fsdp2x{world}-mp", "llama-160m", {"kind": "fsdp2", "world": world, **mixed},
                   init="meta")
    ddp = {"kind": "ddp", "world": 8}
    yield case("gpt2-ddp8-view", "gpt2", {**ddp, "bucket_view": True})
    yield case("gpt2-ddp8-static-ckpt", "gpt2", {**ddp, "static_graph": True}, checkpoint="nonreentrant")
    yield case("gpt2-ddp8-ampbf16-accum4-nosync", "gpt2", ddp, precision="amp-bf16", grad_accum=4, no_sync=True,
               grad_clip=1.0)
    yield case("llama-1b-ddp8-bf16-fused-view", "llama-1b", {**ddp, "bucket_view": True}, precision="bf16",
               impl="fused")
    yield case("gpt2-fsdp1x8", "gpt2", {"kind": "fsdp1", "world": 8})
    yield case("llama-160m-fsdp1x8-mp", "llama-160m", {"kind": "fsdp1", "world": 8, "mp": "bf16"})
    fsdp2 = {"kind": "fsdp2", "world": 8, **mixed}
    for name, reshard in (("noreshard", False), ("butlast", "but-last"), ("reshard2", 2)):
        yield case(f"llama-160m-fsdp2x8-mp-{name}", "llama-160m", {**fsdp2, "reshard": reshard}, init="meta")
    yield case("llama-160m-fsdp2x8-mp-accum2-nosync", "llama-160m", fsdp2, init="meta", grad_accum=2, no_sync=True)
    yield case("llama-160m-fsdp2x8-mp-clip", "llama-160m", fsdp2, init="meta", grad_clip=1.0)
    yield case("llama-1b-fsdp2x8-mp-ckpt", "llama-1b", fsdp2, init="meta", checkpoint="nonreentrant", seq=2048)
    yield case("plain-1b-fsdp2x64-mp-butlast", "plain-1b", {**fsdp2, "world": 64, "reshard": "but-last"}, init="meta",
               loss="flat", seq=2048)
    for world in (2, 8):
        yield case(f"plain-1b-tp{world}-bf16", "plain-1b", {"kind": "tp", "world": world}, init="meta",
                   precision="bf16", seq=2048)
        yield case(f"plain-1b-tp{world}-sp-bf16", "plain-1b",
                   {"kind": "tp", "world": world, "sequence_parallel": True}, init="meta", precision="bf16", seq=2048)
    yield case("llama-160m-tp4", "llama-160m", {"kind": "tp", "world": 4})
    yield case("plain-160m-tp4-sp-lp", "plain-160m",
               {"kind": "tp", "world": 4, "sequence_parallel": True, "loss_parallel": True}, init="meta")
    both = {"kind": "fsdp2+tp", **mixed, "sequence_parallel": True}
    for dp, tp in ((2, 4), (8, 8)):
        yield case(f"plain-1b-fsdp2x{dp}-tp{tp}-sp", "plain-1b", {**both, "dp": dp, "tp": tp}, init="meta", seq=2048)
    # Without sequence parallelism the two do not go together in PyTorch 2.6 (DTensors of different meshes).


def of_settings():
    varying = {"seq": VARYING, "steps": 8}
    subjects = {"gpt2-fp32": {"model": "gpt2", "batch": 4, "seq": 512},
                "llama-160m-ampbf16": {"model": "llama-160m", "batch": 4, "seq": 512, "precision": "amp-bf16"},
                "qwen2-0.5b-bf16-ckpt": {"model": "qwen2-0.5b", "batch": 4, "seq": 512, "precision": "bf16",
                                         "checkpoint": "nonreentrant"},
                "gpt2-fp32-varying": {"model": "gpt2", "batch": 2, **varying}}
    for name, case in subjects.items():
        yield {"id": f"{name}-default", **case}
        for setting, text in SETTINGS.items():
            yield {"id": f"{name}-{setting}", **case, "alloc_conf": text}
    for name, text in (("default", ""), ("expandable", SETTINGS["expandable"]), ("split128", "max_split_size_mb:128")):
        yield {"id": f"llama-1b-bf16-fragments-{name}", "model": "llama-1b", "precision": "bf16", "batch": 2,
               "seq": {"seed": 11, "low": 64, "high": 2048, "multiple": 8}, "steps": 30, "alloc_conf": text}
    for limit in (2700, 3000, 3400):
        yield {"id": f"gpt2-fp32-varying-limit{limit}", "model": "gpt2", "batch": 2, **varying,
               "memory_limit_mib": limit}
    yield {"id": "gpt2-fp32-varying-gc60-limit3000", "model": "gpt2", "batch": 2, **varying,
           "memory_limit_mib": 3000, "alloc_conf": SETTINGS["gc60"]}
    yield {"id": "gpt2-fp32-varying-expandable-limit2700", "model": "gpt2", "batch": 2, **varying,
           "memory_limit_mib": 2700, "alloc_conf": SETTINGS["expandable"]}
    yield {"id": "gpt2-fp32-oom", "model": "gpt2", "batch": 512, "seq": 1024}  # beyond any existing device
    yield {"id": "gpt2-fp32-oom-expandable", "model": "gpt2", "batch": 512, "seq": 1024,
           "alloc_conf": SETTINGS["expandable"]}


def all_cases(program):
    """In order, without runs that equal an earlier one or one of the first list."""
    parts = {"a": [probes()], "b": [small_and_medium(), nearly_16(program), above_80(program)], "c": [of_jobs()],
             "d": [of_settings()]}
    listed = {canonical(case) for case in json.loads(FIRST.read_text())}
    for part, lists in parts.items():
        for case in itertools.chain(*lists):
            if canonical(case) not in listed:
                listed.add(canonical(case))
                yield {**case, "tags": [f"part-{part}"]}


def add_options(parser):
    parser.add_argument("--highwater", required=True, metavar="FILE", help="the program, for --find-batch")
    parser.add_argument("--to", required=True, metavar="FILE", help="the list: cases/matrix.json")


def run(options):
    cases = list(all_cases(options.highwater))
    lines = ",\n".join(json.dumps({key: value for key, value in case.items() if value != ""}) for case in cases)
    Path(options.to).write_text(f"[\n{lines}\n]\n")
    print(f"{options.to}: {len(cases)} cases")
    return 0
