"""Modules of NVIDIA's Transformer Engine under the recorder: they run, nothing they call lacks a model, sizes are those of its source.

transformer_engine_test.py LIBRARIES [--python PYTHON] [--only NAME,...]

LIBRARIES: folder with cuda12/ and cuda13/. PYTHON is that of an environment made by
tools/python/frameworks/transformer_engine/install.py (HIGHWATER_TRANSFORMER_ENGINE_PYTHON); without one the test is
skipped (exit status 4).
"""
import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import recorded_events

ROOT = pathlib.Path(__file__).resolve().parents[3]
MODULES = ROOT / "tools" / "python" / "frameworks" / "transformer_engine" / "modules.py"
H100 = "name=NVIDIA H100 80GB HBM3;major=9;minor=0;multiprocessors=132;threads=2048;memory=84943044608"
B200 = "name=NVIDIA B200;major=10;minor=0;multiprocessors=148;threads=2048;memory=191503138816"
WORKSPACE = 32 * 2**20 + 1024  # of cuBLAS (cpp_extensions/gemm.py:43)
TOKENS, HIDDEN, FFN, EXPERTS = 2 * 384, 1024, 2816, 8  # those of modules.py, and another length, so that no two sizes agree
LENGTH = ["--seq", "384"]


@dataclasses.dataclass
class Case:
    words: str                 # arguments of modules.py
    sizes: dict[int, int]      # blocks of these many bytes, and how many of them are allocated
    gpu: str = H100
    ranks: int = 1


def block_scales(rows, columns):
    """Of an activation: one for each 128 columns of a row, or 128 rows of a column (quantizer.cpp:1441)."""
    return 4 * -(-columns // 128) * rows


# Two layers, two steps; each layer quantises its weights in each step, by rows and by columns.
CASES = {
    "linear": Case("linear", {WORKSPACE: 1}),
    "rmsnorm": Case("rmsnorm", {132 * 3 * HIDDEN * 4: 2}),  # three blocks on each multiprocessor, by NVRTC 13.2
    "layer": Case("transformer_layer", {WORKSPACE: 1, 2 * TOKENS * FFN: 2 * 2 * 2}),
    "delayed": Case("transformer_layer --recipe delayed", {WORKSPACE: 1, FFN * HIDDEN: 2 * 2 * 2, 4 * 1024 * 9: 2}),
    "current": Case("transformer_layer --recipe current", {WORKSPACE: 1, FFN * HIDDEN: 2 * 2 * 2}),
    "block": Case("transformer_layer --recipe block", {WORKSPACE: 1, block_scales(TOKENS, FFN): 2 * 2 * 2}),
    "mxfp8": Case("transformer_layer --recipe mxfp8", {WORKSPACE: 1, FFN * HIDDEN: 2 * 2 * 2}, gpu=B200),
    "nvfp4": Case("transformer_layer --recipe nvfp4", {WORKSPACE: 1}, gpu=B200),
    "quantized weights": Case("transformer_layer --recipe delayed --quantized-weights", {WORKSPACE: 1}),
    "attention": Case("attention", {}),
    "grouped": Case("grouped_linear", {WORKSPACE: 4, 2 * EXPERTS * HIDDEN * FFN: 2}),
    "offloaded": Case("offloaded_layers --layers 4", {WORKSPACE: 1}),
    "permute": Case("permute", {}),
    "permute by index": Case("permute_index", {}),
    "router": Case("router", {}),
    "rope": Case("rope", {}),
    "cross entropy": Case("cross_entropy --vocab 8192", {2 * TOKENS * 8192: 2 * 2, 8 * TOKENS: 1 + 2}),
    "p2p": Case("context_parallel --exchange p2p", {}, ranks=2),
    "all_gather": Case("context_parallel --exchange all_gather", {}, ranks=2),
    "a2a": Case("context_parallel --exchange a2a", {}, ranks=2),
    "a2a+p2p": Case("context_parallel --exchange a2a+p2p", {}, ranks=4),
}


ROUTINGS = {"routed evenly": "even", "routed by load": "busiest:2"}
# The fused routers' choices are those of --moe-load, in each form of their map: even, then half of all for the first expert.
ROUTED = """
import torch
from transformer_engine.pytorch import router
logits = torch.randn(8, 4, device="cuda")
def choose(**more):
    return router.fused_topk_with_score_function(logits, 2, False, None, None, None, "softmax", None, **more)[1]
expected = [4, 4, 4, 4] if "LOAD" == "even" else [8, 3, 3, 2]
assert choose().sum(0).tolist() == expected, choose().sum(0)
bits = choose(routing_map_format="bitmap_u8").flatten().tolist()
assert [sum(byte >> expert & 1 for byte in bits) for expert in range(4)] == expected
chosen = torch.empty(8, 2, dtype=torch.int32, device="cuda")
choose(topk_indices=chosen)
assert torch.bincount(chosen.flatten().long(), minlength=4).tolist() == expected
assert router.fused_compute_score_for_moe_aux_loss(logits, 2, "softmax")[0].sum(0).tolist() == expected
"""


def routing_problems(load, python, libraries, folder):
    environment = {**os.environ, **recorded_events.environment(libraries, folder), "FAKE_CUDA_GPU": H100,
                   "HIGHWATER_RECORD_MOE_LOAD": load}
    run = subprocess.run([python, "-c", ROUTED.replace("LOAD", load)], cwd=folder, env=environment, stderr=subprocess.PIPE,
                         text=True, check=False)
    if run.returncode != 0:
        yield run.stderr[-2000:]


def ranks_environment(ranks):
    if ranks == 1:
        return {}
    number = str(ranks)
    return {"HIGHWATER_RECORD_WORLD_SIZE": number, "WORLD_SIZE": number, "RANK": "0", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": number,
            "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500", "FAKE_CUDA_DEVICES": number}


def problems(case, python, libraries, folder):
    """What is wrong with a case, in sentences."""
    environment = {**os.environ, **recorded_events.environment(libraries, folder), **ranks_environment(case.ranks),
                   "FAKE_CUDA_GPU": case.gpu, "FAKE_CUDA_CONTEXT": "500M"}
    run = subprocess.run([python, MODULES, *case.words.split(), *LENGTH], cwd=folder, env=environment, stdout=subprocess.DEVNULL,
                         stderr=subprocess.PIPE, text=True, check=False)
    snapshot = recorded_events.recorded(case.words, run, folder)
    written = [json.loads(line) for line in (folder / "status").read_text().splitlines() if '"written"' in line][-1]
    if written["ended"] != "exit":
        yield f"ended by {written['ended']}: {written['error']}"
    if written["not_modelled"]:
        yield f"called without a model: {written['not_modelled']}"
    allocated = [size for action, size, *_ in recorded_events.events(snapshot) if action == "alloc"]
    for size, count in case.sizes.items():
        if allocated.count(size) != count:
            yield f"{allocated.count(size)} blocks of {size} bytes, not {count}"


def main():
    parser = recorded_events.parser(__doc__)
    parser.set_defaults(python=os.environ.get("HIGHWATER_TRANSFORMER_ENGINE_PYTHON"))
    parser.add_argument("--only", type=lambda text: text.split(","), default=[*CASES, *ROUTINGS])
    arguments = parser.parse_args()
    if arguments.python is None:
        print("skipped: HIGHWATER_TRANSFORMER_ENGINE_PYTHON names no Python with Transformer Engine")
        sys.exit(recorded_events.SKIPPED)
    failed = 0
    for name in arguments.only:
        with tempfile.TemporaryDirectory() as folder:
            place = arguments.python, arguments.libraries.absolute(), pathlib.Path(folder)
            found = list(problems(CASES[name], *place) if name in CASES else routing_problems(ROUTINGS[name], *place))
        print(f"{name}: {'; '.join(found) or 'ok'}", flush=True)
        failed += bool(found)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
