"""Launches a kernel with arguments of every kind that Triton specialises or passes on; run by examples_test.py."""
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, n, scale, flag, large, nothing, TERM: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n) * scale + TERM
    if flag:
        tl.store(x + at, value, mask=at < n)


@triton.jit
def kernel_of_tuples(pair, BLOCK: tl.constexpr):
    tl.store(pair[0] + tl.arange(0, BLOCK), pair[1])


x = torch.zeros(1000, device="cuda")
for n, scale, large in ((1000, 2.5, 1 << 40), (1, 1.0, -5), (1024, -0.0, 1)):
    kernel[lambda meta: (triton.cdiv(1000, meta["BLOCK"]),)](x, n, scale, n > 1, large, None, 3, BLOCK=256)
kernel[(4,)](x.double(), 16, 1.0, 1, 1, None, 3, BLOCK=128, num_warps=8)
if tuple(map(int, triton.__version__.split(".")[:2])) >= (3, 3):
    kernel_of_tuples[(1,)]((x, 2.0), BLOCK=128)
