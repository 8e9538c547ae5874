#include "workloads/models/decoders/layer_masks.hpp"

namespace highwater::models {

namespace {

// Qwen2-MoE says 0 where windows are switched off, and makes that mask nevertheless.
std::optional<std::int64_t> window_of_mask(const LlamaConfig& config) {
  if (config.code->windows.masks == MaskKinds::used) {
    return any_window(config);
  }
  const bool is_off = has_switch(config.code->windows.layers) && !config.use_sliding_window;
  return is_off ? std::optional<std::int64_t>(0) : config.sliding_window;
}

}  // namespace

LayerMasks make_layer_masks(const nn::ModelContext& context, const LlamaConfig& config,
                            nn::MaskRequest request) {
  LayerMasks masks;
  if (config.code->windows.masks == MaskKinds::one) {
    request.sliding_window = window_of(config, 0);
    masks.full = nn::create_causal_mask(context, request);
    return masks;
  }
  masks.full = nn::create_causal_mask(context, request);
  request.sliding_window = window_of_mask(config);
  if (request.sliding_window) {
    masks.windowed = nn::create_causal_mask(context, request);
  }
  return masks;
}

std::optional<std::int64_t> any_window(const LlamaConfig& config) {
  for (std::int64_t i = 0; i < config.num_hidden_layers; ++i) {
    if (const auto window = window_of(config, i)) {
      return window;
    }
  }
  return std::nullopt;
}

}  // namespace highwater::models
