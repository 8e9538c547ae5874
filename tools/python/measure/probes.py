"""Facts about the allocator and the layers below it, each from a few lines instead of a training run.

A probe is a case with "probe": {"kind": ...}. Its phases are markers like any other, so the driver's figure and the
allocator's statistics stand after each.

  context   nothing but the context: one block of 512 bytes
  matmul    the first matrix products, forward and backward, with and without a bias ("dtype"): the workspaces of
            cuBLAS and cuBLASLt, one per thread with a handle
  rounding  blocks of revealing sizes, allocated and freed one by one, then all at once
  kernels   the first call of kernels of several kinds: what loading their code costs outside the allocator
"""

MIB = 2**20
SIZES = (1, 511, 512, 513, 4096, MIB - 512, MIB - 1, MIB, MIB + 1, 2 * MIB, 2 * MIB + 512, 10 * MIB - 512, 10 * MIB,
         10 * MIB + 1, 19 * MIB, 20 * MIB, 20 * MIB + 1, 21 * MIB, 200 * MIB + 3)


def context(torch, probe, mark):
    kept = torch.empty(512, dtype=torch.uint8, device="cuda")
    mark("first_block")
    return kept


def matmul(torch, probe, mark):
    dtype = getattr(torch, probe["dtype"])
    left, right = (torch.ones((256, 256), dtype=dtype, device="cuda", requires_grad=True) for _ in range(2))
    bias = torch.ones(256, dtype=dtype, device="cuda", requires_grad=True)
    mark("operands")
    product = left @ right
    mark("first_matmul")
    product.sum().backward()
    mark("first_backward")
    linear = torch.nn.functional.linear(left, right, bias)
    mark("first_linear_with_bias")
    linear.sum().backward()
    mark("linear_backward")
    with torch.cuda.stream(torch.cuda.Stream()):
        again = left @ right
    mark("matmul_on_another_stream")
    torch.cuda.synchronize()
    return product, linear, again


def rounding(torch, probe, mark):
    for size in SIZES:
        block = torch.empty(size, dtype=torch.uint8, device="cuda")
        mark(f"block_{size}")
        del block
    mark("one_by_one")
    kept = [torch.empty(size, dtype=torch.uint8, device="cuda") for size in SIZES]
    mark("all_at_once")
    del kept[::2]
    mark("every_other_freed")
    kept.append(torch.empty(15 * MIB, dtype=torch.uint8, device="cuda"))
    mark("into_the_gaps")
    return kept


def kernels(torch, probe, mark):
    functional = torch.nn.functional
    kept = torch.ones((4, 8, 64, 64), device="cuda")
    mark("fill")
    kept = kept * 2 + 1
    mark("elementwise")
    kept.sum().item()
    mark("reduction")
    functional.layer_norm(kept, (64,))
    mark("layer_norm")
    functional.softmax(kept, dim=-1)
    mark("softmax")
    functional.embedding(torch.zeros((4, 64), dtype=torch.long, device="cuda"), kept[0, 0])
    mark("embedding")
    functional.scaled_dot_product_attention(kept, kept, kept, is_causal=True)
    mark("attention_fp32")
    half = kept.bfloat16()
    functional.scaled_dot_product_attention(half, half, half, is_causal=True)
    mark("attention_bf16")
    functional.cross_entropy(kept[0, 0], torch.zeros(64, dtype=torch.long, device="cuda"))
    mark("cross_entropy")
    functional.conv2d(kept, torch.ones((8, 8, 3, 3), device="cuda"))
    mark("convolution")
    torch.sort(kept.flatten())
    mark("sort")
    return kept


KINDS = {"context": context, "matmul": matmul, "rounding": rounding, "kernels": kernels}


def probe(run):
    asked = run.case["probe"]
    kept = KINDS[asked["kind"]](run.torch, asked, run.recorder.mark)
    run.report["_snapshot"] = run.recorder.snapshot()
    del kept
    run.recorder.mark("freed", after_snapshot=True)
    if run.recorder.live:
        run.torch.cuda.empty_cache()
        run.recorder.mark("empty_cache", after_snapshot=True)
