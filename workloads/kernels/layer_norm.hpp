// Blocks of native_layer_norm besides its results.
//
// Forward allocates, in this order: output (dtype and shape of the input), mean, rstd; a contiguous
// copy of a strided input comes before and goes at the end. Backward: dX, dgamma, dbeta (those
// requested), then a contiguous copy of a strided gradient, freed at the end; nothing else on
// NVIDIA GPUs in 2.6, where one kernel makes the column sums. Facts:
// ATen/native/cuda/layer_norm_kernel.cu.
#pragma once

#include <cstdint>

namespace highwater {

/// Bytes of mean, and of rstd, of a layer norm over `rows` rows: float, also for 16-bit inputs.
constexpr std::int64_t layer_norm_statistic_bytes(std::int64_t rows) {
  return rows * 4;
}

}  // namespace highwater
