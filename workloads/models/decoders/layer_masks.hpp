// The masks of a decoder's forward: one, or one for each kind of layer.
#pragma once

#include "workloads/nn/masking.hpp"
#include "workloads/plan/model/families/llama_config.hpp"

namespace highwater::models {

struct LayerMasks {
  eager::Tensor full;
  eager::Tensor windowed;  ///< of layers with a window, where kinds have masks of their own
};

/// `request` is that of a layer without a window.
LayerMasks make_layer_masks(const nn::ModelContext& context, const LlamaConfig& config,
                            nn::MaskRequest request);

/// The window of any layer that has one.
std::optional<std::int64_t> any_window(const LlamaConfig& config);

}  // namespace highwater::models
