// Scratch of Transformer Engine's norms.
//
// The backward kernel sums the gradients of the weight (and of LayerNorm's bias) over the rows that
// a block has seen; one row of such sums for each block that the GPU holds at once lies in scratch.
// A row of channels may be spread over several blocks, which meet at a barrier.
//
// Source: Transformer Engine 2.20, common/normalization/{rtc_dispatch,common}.cpp and the kernels'
// lists ({rmsnorm,layernorm}/*_bwd_semi_cuda_kernel.cu). How many blocks a multiprocessor holds
// follows from registers that NVIDIA's compiler chooses: as NVRTC 13.2 answers
// (tools/python/frameworks/transformer_engine/norm_scratch.py under `highwater record`).
#pragma once

#include <cstdint>

#include "workloads/plan/gpu.hpp"

namespace highwater {

enum class TeNormKind : std::uint8_t { layer, rms };

/// A norm of `rows` vectors of `columns` channels in 16 bits.
struct TeNorm {
  TeNormKind kind = TeNormKind::layer;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

/// Bytes that the backward kernel takes besides its results.
std::int64_t te_norm_backward_scratch(const Gpu& gpu, const TeNorm& norm);

}  // namespace highwater
