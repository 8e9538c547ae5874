// Whether bitsandbytes multiplies by 4-bit weights in one kernel, or dequantises them into a block
// of their own first (bitsandbytes 0.50.2, backends/cuda/ops.py gemm_4bit).
//
// Its thresholds were measured on each generation of GPUs: how many rows of the input the kernel
// beats cuBLAS for, given how many waves of blocks of 64 outputs the layer makes.
#pragma once

#include <cstdint>

#include "workloads/plan/dtype.hpp"
#include "workloads/plan/gpu.hpp"

namespace highwater {

/// input [rows, in] times the transpose of a weight [out, in] of 4 bits.
struct Gemm4Bit {
  std::int64_t rows = 0;
  std::int64_t in = 0;
  std::int64_t out = 0;
  DType dtype = DType::bf16;
  std::int64_t block_size = 64;
};

/// Whether the kernel reads the 4-bit weight itself.
bool reads_4bit_weight(const Gpu& gpu, const Gemm4Bit& gemm);

}  // namespace highwater
