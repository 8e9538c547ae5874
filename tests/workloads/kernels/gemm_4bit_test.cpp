// Whether bitsandbytes' kernel reads 4-bit weights itself. The expected answers are what
// _gemm_4bit_use_custom_cuda and gemm_4bit of bitsandbytes 0.50.2 (backends/cuda/ops.py) return for
// a device with these properties.
#include "workloads/kernels/gemm_4bit.hpp"

#include <catch2/catch.hpp>

using namespace highwater;

namespace {

Gpu device(int major, int minor, int multiprocessors) {
  Gpu gpu;
  gpu.major = major;
  gpu.minor = minor;
  gpu.multiprocessors = multiprocessors;
  return gpu;
}

struct Answer {
  Gpu gpu;
  Gemm4Bit gemm;
  bool reads = false;
};

}  // namespace

TEST_CASE("4-bit products: the kernel is taken as bitsandbytes takes it", "[quantized]") {
  const Gpu t4 = device(7, 5, 40);
  const Gpu a100 = device(8, 0, 108);
  const Gpu a10 = device(8, 6, 72);
  const Gpu rtx4090 = device(8, 9, 128);
  const Gpu h100 = device(9, 0, 132);
  const Gpu b200 = device(10, 0, 148);
  const Gpu rtx5090 = device(12, 0, 170);
  const auto [gpu, gemm, reads] = GENERATE_REF(values<Answer>({
      {a10, {.rows = 384, .in = 256, .out = 11008, .dtype = DType::bf16}, false},
      {t4, {.rows = 9, .in = 14336, .out = 3072, .dtype = DType::fp32}, false},
      {t4, {.rows = 48, .in = 512, .out = 256, .dtype = DType::fp32}, false},
      {rtx4090, {.rows = 7, .in = 512, .out = 1024, .dtype = DType::fp16}, true},
      {h100, {.rows = 6, .in = 14336, .out = 32000, .dtype = DType::fp16}, true},
      {t4, {.rows = 6, .in = 14336, .out = 8192, .dtype = DType::bf16}, true},
      {rtx4090, {.rows = 64, .in = 11008, .out = 256, .dtype = DType::bf16}, false},
      {rtx5090, {.rows = 128, .in = 700, .out = 3584, .dtype = DType::bf16}, false},
      {h100, {.rows = 129, .in = 700, .out = 5120, .dtype = DType::bf16}, false},
      {h100, {.rows = 48, .in = 11008, .out = 4096, .dtype = DType::bf16}, false},
      {rtx4090, {.rows = 1024, .in = 8192, .out = 8192, .dtype = DType::fp16}, false},
      {a10, {.rows = 65, .in = 700, .out = 18944, .dtype = DType::bf16}, false},
      {b200, {.rows = 8, .in = 1536, .out = 8192, .dtype = DType::bf16}, false},
      {rtx4090, {.rows = 5, .in = 512, .out = 11008, .dtype = DType::fp16}, true},
      {rtx5090, {.rows = 192, .in = 2048, .out = 3072, .dtype = DType::fp32}, false},
      {h100, {.rows = 1024, .in = 512, .out = 512, .dtype = DType::fp16}, false},
      {rtx4090, {.rows = 48, .in = 1536, .out = 18944, .dtype = DType::bf16}, true},
      {a100, {.rows = 384, .in = 8192, .out = 3584, .dtype = DType::bf16}, false},
      {a100, {.rows = 97, .in = 4096, .out = 14336, .dtype = DType::fp16}, false},
      {b200, {.rows = 64, .in = 512, .out = 768, .dtype = DType::fp16}, false},
      {a100, {.rows = 64, .in = 1024, .out = 11008, .dtype = DType::bf16}, true},
      {t4, {.rows = 32, .in = 1536, .out = 2048, .dtype = DType::fp16}, true},
      {a10, {.rows = 6, .in = 11008, .out = 4096, .dtype = DType::bf16}, true},
      {t4, {.rows = 6, .in = 256, .out = 512, .dtype = DType::fp16}, true},
      {rtx5090, {.rows = 321, .in = 1536, .out = 768, .dtype = DType::bf16}, false},
      {rtx5090, {.rows = 65, .in = 4096, .out = 32000, .dtype = DType::bf16}, true},
      {h100, {.rows = 700, .in = 2048, .out = 18944, .dtype = DType::fp16}, false},
      {h100, {.rows = 4, .in = 512, .out = 256, .dtype = DType::bf16}, true},
      {a100, {.rows = 96, .in = 1536, .out = 1024, .dtype = DType::bf16}, true},
      {rtx4090, {.rows = 64, .in = 4096, .out = 768, .dtype = DType::bf16}, false},
      {b200, {.rows = 4, .in = 11008, .out = 3072, .dtype = DType::fp16}, true},
      {a10, {.rows = 7, .in = 1024, .out = 512, .dtype = DType::fp32}, true},
      {b200, {.rows = 513, .in = 1536, .out = 512, .dtype = DType::bf16}, false},
      {h100, {.rows = 97, .in = 256, .out = 3072, .dtype = DType::bf16}, true},
      {rtx5090, {.rows = 1537, .in = 4096, .out = 5120, .dtype = DType::fp16}, false},
      {a10, {.rows = 64, .in = 1024, .out = 3072, .dtype = DType::bf16}, true},
      {rtx5090, {.rows = 8, .in = 512, .out = 2048, .dtype = DType::bf16}, true},
      {a100, {.rows = 5, .in = 256, .out = 3584, .dtype = DType::fp16}, true},
      {a10, {.rows = 64, .in = 14336, .out = 512, .dtype = DType::bf16}, false},
      {h100, {.rows = 7, .in = 700, .out = 8192, .dtype = DType::bf16}, false},
      {rtx4090, {.rows = 4, .in = 256, .out = 768, .dtype = DType::fp16}, true},
      {a10, {.rows = 6, .in = 700, .out = 5120, .dtype = DType::fp16}, false},
      {h100, {.rows = 64, .in = 2048, .out = 4096, .dtype = DType::fp16}, false},
      {rtx5090, {.rows = 4, .in = 4096, .out = 14336, .dtype = DType::bf16}, true},
      {t4, {.rows = 97, .in = 2048, .out = 8192, .dtype = DType::fp16}, true},
      {a100, {.rows = 48, .in = 1536, .out = 512, .dtype = DType::fp32}, false},
      {a100, {.rows = 23, .in = 512, .out = 5120, .dtype = DType::bf16}, true},
      {a100, {.rows = 5, .in = 1536, .out = 11008, .dtype = DType::bf16}, true},
      {h100, {.rows = 1, .in = 1536, .out = 5120, .dtype = DType::bf16}, true},
      {rtx4090, {.rows = 64, .in = 256, .out = 4096, .dtype = DType::fp16}, true},
      {rtx5090, {.rows = 7, .in = 8192, .out = 1024, .dtype = DType::bf16}, true},
      {a10, {.rows = 64, .in = 1024, .out = 4096, .dtype = DType::bf16}, true},
      {a100, {.rows = 512, .in = 256, .out = 11008, .dtype = DType::fp16}, true},
      {a100, {.rows = 6, .in = 256, .out = 1024, .dtype = DType::fp16}, true},
      {t4, {.rows = 8, .in = 4096, .out = 3072, .dtype = DType::bf16}, false},
      {h100, {.rows = 16, .in = 1536, .out = 18944, .dtype = DType::bf16}, true},
  }));
  CAPTURE(gpu.major, gpu.minor, gemm.rows, gemm.in, gemm.out, static_cast<int>(gemm.dtype));
  CHECK(reads_4bit_weight(gpu, gemm) == reads);
}
