// Which attention runs, and the mask that a model is given.
#pragma once

#include <cstdint>

namespace highwater {

/// Which attention runs; `sdpa` is PyTorch's own choice by dtype, mask and GPU.
enum class Attention : std::uint8_t {
  eager,
  sdpa,
  sdpa_flash,
  sdpa_efficient,
  sdpa_math,
  sdpa_cudnn,
  flex  ///< flex_attention, compiled: torchtitan 0.3
};

/// Whether cuDNN's attention has the workspaces that NVIDIA's library asks for, or none, as in
/// recordings for which nobody asked it.
enum class CudnnWorkspaces : std::uint8_t { counted, none };

/// The [batch, seq] mask that the model is given: one that hides nothing, or padding.
enum class AttentionMask : std::uint8_t { none, full, padded };

}  // namespace highwater
