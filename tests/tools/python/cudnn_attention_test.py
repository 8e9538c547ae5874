"""Workspaces of cuDNN's attention: what a recording holds is what NVIDIA's cuDNN itself answers, and what plans count.

cudnn_attention_test.py LIBRARIES [--python PYTHON] [--shapes N] [--seed S] [--gpu NAME]...

LIBRARIES: folder with cuda13/ and cudnn/. PYTHON has PyTorch for CUDA, NVIDIA's cuDNN 9.8 or later beside it, and
cudnn-frontend (pip install --no-deps nvidia-cudnn-frontend==1.16.0; later ones ask for a device themselves); without them
the test is skipped (exit status 4). Three answers for shapes drawn at random: the bytes that PyTorch on the fake device
requests beside its results; the workspaces of graphs that cudnn-frontend builds in a process without PyTorch; and the
rules of workloads/kernels/cudnn_attention.cpp, written down once more. A plan takes the library about a second.
"""
import argparse
import ctypes
import json
import os
import pathlib
import random
import subprocess
import sys

import cudnn_workspaces_test as convolutions

# The families of NVIDIA's kernels (kernels_of() of cudnn_attention.cpp)
GPUS = {"A100": "ampere", "L40S": "ampere", "RTX5090": "ampere", "H100": "hopper", "H200": "hopper", "B200": "blackwell"}
# Beside cuDNN's folder: the wheels of CUDA 13 and 12
COMPILERS = ("../../cu13/lib/libnvrtc.so.13", "../../cuda_nvrtc/lib/libnvrtc.so.12")
FRONTEND = "import importlib.util, sys; sys.exit(importlib.util.find_spec('cudnn') is None)"


def shapes(count, seed):
    """(batch, heads, key heads, queries, keys, channels, channels of values, dropout, causal), multiples of 8 channels."""
    draw = random.Random(seed)
    made = []
    for _ in range(count):
        kv_heads = draw.choice((1, 2, 3, 4, 8, 12))
        queries = draw.choice((2, 17, 77, 100, 128, 129, 197, 333, 512, 1000, 1024, 2048, 4096))
        keys = queries if draw.random() < 0.75 else draw.choice((64, 77, 128, 300, 1501))
        channels, values = draw.choice(((64, 64), (64, 64), (80, 80), (96, 96), (128, 128), (128, 128), (40, 40), (192, 128), (256, 256)))
        dropout = draw.choice((0.0, 0.0, 0.0, 0.125)) if channels < 192 else 0.0
        made.append((draw.choice((1, 2, 3, 4)), kv_heads * draw.choice((1, 1, 2, 4, 7)), kv_heads, queries, keys, channels, values,
                     dropout, draw.random() < 0.5))
    return made


def fits(gpu, shape):
    """Whether the GPU has a kernel for so many channels (check_cudnn_tensor_shapes of sdp_utils.cpp)."""
    return shape[5] <= (128 if GPUS[gpu] == "ampere" else 256)


# ---- under the fake device

def measure(drawn):
    import torch
    requested = lambda: torch.cuda.memory_stats()["requested_bytes.all.allocated"]  # noqa: E731
    bytes_of = lambda tensors: sum(t.numel() * t.element_size() for t in tensors if isinstance(t, torch.Tensor) and t.is_cuda)  # noqa: E731
    torch.zeros(1, device="cuda")

    def workspaces(shape):
        batch, heads, kv_heads, queries, keys, channels, values, dropout, causal = shape
        q, k, v = (torch.empty(batch, rows, count, width, device="cuda", dtype=torch.bfloat16).transpose(1, 2)
                   for rows, count, width in ((queries, heads, channels), (keys, kv_heads, channels), (keys, kv_heads, values)))
        before = requested()
        out = torch.ops.aten._scaled_dot_product_cudnn_attention(q, k, v, None, True, dropout, causal, False)
        forward = requested() - before - bytes_of(out)
        output, logsumexp, cum_q, cum_k, max_q, max_k, seed, offset, _ = out
        grad = torch.empty_like(output)
        before = requested()
        grads = torch.ops.aten._scaled_dot_product_cudnn_attention_backward(
            grad, q, k, v, output, logsumexp, seed, offset, None, cum_q, cum_k, max_q, max_k, dropout, causal)
        return forward, requested() - before - bytes_of(grads)

    def answer(shape):
        """None where an older cuDNN than PyTorch's own refuses the graph."""
        try:
            return workspaces(shape)
        except RuntimeError:
            return None

    return [answer(shape) for shape in drawn]


# ---- the library itself, by cudnn-frontend

def ask(library, gpu, drawn):
    """In a process that has the driver without a device under the name libcuda.so.1. None for a graph that this frontend
    does not build: PyTorch's own is newer, and has 192 and 256 channels."""
    lib = pathlib.Path(os.environ["HIGHWATER_TEST_LIBRARIES"]) / "cuda13"
    compilers = [path for path in (pathlib.Path(library).parent / each for each in COMPILERS) if path.exists()]
    for path in (lib / "libfakecuda.so.1", lib / "libcudart.so.13", library, *compilers):
        ctypes.CDLL(str(path), ctypes.RTLD_GLOBAL)
    import cudnn
    described = convolutions.properties(gpu)

    def graph_of():
        return cudnn.pygraph(io_data_type=cudnn.data_type.BFLOAT16, intermediate_data_type=cudnn.data_type.FLOAT,
                             compute_data_type=cudnn.data_type.FLOAT, device_property=cudnn.create_device_properties(described))

    def workspace(graph):
        graph.validate()
        graph.build_operation_graph()
        graph.create_execution_plans([cudnn.heur_mode.A])
        graph.check_support()
        graph.build_plans()
        return graph.get_workspace_size()

    def interleaved(count, rows, width):
        return (count * rows * width, width, count * width, 1)

    def tensors(graph, shape):
        batch, heads, kv_heads, queries, keys, channels, values, _, _ = shape
        sizes = {"q": (heads, queries, channels), "k": (kv_heads, keys, channels), "v": (kv_heads, keys, values),
                 "o": (heads, queries, values)}
        return {name: graph.tensor(name=name, dim=[batch, *size], stride=list(interleaved(*size)), data_type=cudnn.data_type.BFLOAT16)
                for name, size in sizes.items()}, sizes

    def options_of(graph, shape):
        dropout, causal = shape[7:]
        word = lambda name: graph.tensor(name=name, dim=[1, 1, 1, 1], stride=[1, 1, 1, 1], data_type=cudnn.data_type.INT64)  # noqa: E731
        drops = {"dropout": (dropout, word("seed"), word("offset"))} if dropout else {}
        return {"attn_scale": 0.125, "use_causal_mask": causal, **drops}

    def forward(shape):
        graph = graph_of()
        given, sizes = tensors(graph, shape)
        output, stats = graph.sdpa(name="sdpa", q=given["q"], k=given["k"], v=given["v"], is_inference=False, **options_of(graph, shape))
        batch, heads, queries = shape[0], shape[1], shape[3]
        output.set_output(True).set_dim([batch, *sizes["o"]]).set_stride(list(interleaved(*sizes["o"])))
        stats.set_output(True).set_data_type(cudnn.data_type.FLOAT).set_dim([batch, heads, queries, 1]).set_stride(
            [heads * queries, queries, 1, 1])
        return workspace(graph)

    def backward(shape):
        graph = graph_of()
        given, sizes = tensors(graph, shape)
        batch, heads, queries = shape[0], shape[1], shape[3]
        grad = graph.tensor(name="do", dim=[batch, *sizes["o"]], stride=list(interleaved(*sizes["o"])), data_type=cudnn.data_type.BFLOAT16)
        stats = graph.tensor(name="stats", dim=[batch, heads, queries, 1], stride=[heads * queries, queries, 1, 1],
                             data_type=cudnn.data_type.FLOAT)
        grads = graph.sdpa_backward(name="backward", q=given["q"], k=given["k"], v=given["v"], o=given["o"], dO=grad, stats=stats,
                                    **options_of(graph, shape))
        for name, result in zip("qkv", grads):
            result.set_output(True).set_dim([batch, *sizes[name]]).set_stride(list(interleaved(*sizes[name])))
        return workspace(graph)

    def answer(function, shape):
        try:
            return function(shape)
        except cudnn.cudnnGraphNotSupportedError:
            return None

    return [(answer(forward, shape), answer(backward, shape)) for shape in drawn]


def asked(options, library, gpu, drawn):
    libraries = pathlib.Path(options.libraries).resolve()
    script = (f"import json, sys; sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r}); import cudnn_attention_test as t; "
              f"print('measured', json.dumps(t.ask({library!r}, {gpu!r}, {drawn!r})), flush=True)")
    environment = {**os.environ, "LD_LIBRARY_PATH": str(libraries / "cudnn"), "HIGHWATER_TEST_LIBRARIES": str(libraries)}
    run = subprocess.run([options.python, "-c", script], env=environment, stdout=subprocess.PIPE, text=True, check=False)
    return json.loads(next(line.partition(" ")[2] for line in run.stdout.splitlines() if line.startswith("measured ")))


# ---- the rules

def rounded_up(value, multiple):
    return -(-value // multiple) * multiple


def by_rule(gpu, shape):
    batch, heads, kv_heads, queries, keys, channels, values, dropout, _ = shape
    planes = batch * heads
    is_wide = GPUS[gpu] == "blackwell" and channels == 256
    frontend = planes * queries * ((0 if is_wide else channels) + 1) * 4
    expanded = lambda size: 0 if heads == kv_heads else sum(  # noqa: E731
        rounded_up(planes * keys * width * size, 128) for width in (channels, values))
    query = planes * rounded_up(queries, 8) * channels * 4
    mask = planes * rounded_up(queries, 128) * rounded_up(keys, 128) // 8
    if GPUS[gpu] == "hopper":
        return 256, frontend + expanded(2) + 256
    if GPUS[gpu] == "ampere":
        return 0, frontend + expanded(2) + query + 128
    more = expanded(4) if is_wide else mask if dropout else query if keys <= 128 and channels <= 128 else 0
    wanted = expanded(2) + more
    return mask + 128 if dropout else 0, frontend + wanted + (128 if wanted else 0)


# ---- all three

def compare(options, gpu, library):
    drawn = [shape for shape in shapes(options.shapes, options.seed) if fits(gpu, shape)]
    recorded = convolutions.recorded(options, gpu, f"cudnn_attention_test.measure({drawn!r})")
    answers = asked(options, library, gpu, drawn)
    wrong = refused = 0
    for shape, held, answer in zip(drawn, recorded, answers):
        rule = by_rule(gpu, shape)
        if held is None:
            refused += 1
        elif tuple(held) != rule or any(own not in (None, size) for own, size in zip(answer, held)):
            wrong += 1
            print(f"{gpu} {shape}: recorded {held}, cuDNN {answer}, by rule {rule}", file=sys.stderr)
    unasked = sum(None in answer for answer in answers)
    asked_of = len(drawn) - refused
    print(f"{gpu}: {asked_of - wrong} of {asked_of} shapes, forward and backward, as cuDNN answers and as plans count them "
          f"({unasked} by PyTorch's frontend alone; {refused} refused by this cuDNN)", flush=True)
    return wrong + (asked_of == 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("libraries")
    parser.add_argument("--python", default=os.environ.get("HIGHWATER_TORCH_PYTHON", sys.executable))
    parser.add_argument("--shapes", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--gpu", action="append", choices=GPUS)
    options = parser.parse_args()
    library = subprocess.run([options.python, "-c", convolutions.PLACE], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    has_frontend = subprocess.run([options.python, "-c", FRONTEND], check=False).returncode == 0
    if not library or not has_frontend or not (pathlib.Path(options.libraries) / "cudnn" / "cudnn_library").exists():
        print("skipped: no cuDNN of NVIDIA's, or no cudnn-frontend, beside this Python's PyTorch (pip install nvidia-cudnn-cu13; "
              "pip install --no-deps nvidia-cudnn-frontend==1.16.0)")
        return convolutions.SKIPPED
    return 1 if sum(compare(options, gpu, library) for gpu in options.gpu or GPUS) else 0


if __name__ == "__main__":
    raise SystemExit(main())
