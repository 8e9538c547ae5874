"""Prints what the backward pass of Transformer Engine's norms takes as scratch: `highwater record --gpu G -- python norm_scratch.py`.

One row for each norm and number of channels: bytes, and blocks that a multiprocessor holds at once. The blocks follow from the
registers that NVRTC gives the kernel (common/normalization/rtc_dispatch.cpp), so they hold for its release and the GPU's
architecture; workloads/kernels/te_norm.cpp has them.
"""
import torch
import transformer_engine.pytorch  # noqa: F401  (loads the extension)
import transformer_engine_torch as extension

CHANNELS = {
    "RMSNorm": (128, 256, 512, 640, 768, 896, 1024, 1152, 2048, 2560, 3072, 3584, 4096, 5120, 6144, 7168, 8192, 12288, 16384, 18432),
    "LayerNorm": (128, 256, 512, 640, 768, 896, 1024, 1152, 1536, 1600, 2048, 2304, 2560, 3072, 3840, 4096, 4544, 5120, 6144, 7168,
                  8192, 9216, 10240, 12288, 12800, 14336, 15360, 16384, 18432, 20480, 24576),
}
ROWS = 65536  # more than any GPU holds blocks


def scratch(norm, channels):
    def empty(*sizes, dtype=torch.bfloat16):
        return torch.empty(sizes, dtype=dtype, device="cuda")

    gradient, states, weight = empty(ROWS, channels), empty(ROWS, channels), empty(channels)
    mean, deviation = empty(ROWS, dtype=torch.float32), empty(ROWS, dtype=torch.float32)
    before = torch.cuda.memory_stats()["requested_bytes.all.current"]
    torch.cuda.reset_peak_memory_stats()
    if norm == "RMSNorm":
        results = extension.rmsnorm_bwd(gradient, states, deviation, weight, 0, False)
    else:
        results = extension.layernorm_bwd(gradient, states, mean, deviation, weight, 0, False)
    kept = sum(result.numel() * result.element_size() for result in results)
    return torch.cuda.memory_stats()["requested_bytes.all.peak"] - before - kept


def main():
    processors = torch.cuda.get_device_properties(0).multi_processor_count
    print(torch.cuda.get_device_name(), f"{processors} multiprocessors, compute capability", *torch.cuda.get_device_capability())
    for norm, sizes in CHANNELS.items():
        sums = 1 if norm == "RMSNorm" else 2
        for channels in sizes:
            found = scratch(norm, channels)
            print(f"{norm} {channels}: {found}, {found / (4 * sums * channels * processors):.4f}")


main()
