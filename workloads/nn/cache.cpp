#include "workloads/nn/cache.hpp"

#include "workloads/plan/training_plan.hpp"

namespace highwater::nn {

// A Python list drops its items from the last to the first.
KeyValueCache::~KeyValueCache() {
  for (auto layer = layers_.rbegin(); layer != layers_.rend(); ++layer) {
    eager::end_of_frame(layer->keys, layer->values, layer->window);
  }
}

namespace {

// transformers' cache_utils.py, DynamicLayer.update and lazy_initialization:
constexpr Release kFirstEmptyTensors{4, 56};  ///< the first states are joined to empty ones
constexpr Release kFirstWindowTensor{5, 0};   ///< a sliding layer has its width as a tensor
constexpr Release kFirstOwnTypes{5, 24};  ///< the empty values have the values' type, not the keys'

}  // namespace

void KeyValueCache::update(Tensor& keys, Tensor& values) {
  const auto after_nothing = [](const Tensor& states, DType type) {
    const Tensor none = eager::empty(states.runtime(), {0}, type);
    return eager::cat(std::initializer_list<Tensor>{none, states}, -2);
  };
  if (keys.runtime().transformers < kFirstEmptyTensors) {
    layers_.push_back({.keys = keys, .values = values, .window = {}});
    return;
  }
  Layer layer;
  layer.keys = after_nothing(keys, keys.dtype());
  layer.values = after_nothing(
      values, keys.runtime().transformers < kFirstOwnTypes ? keys.dtype() : values.dtype());
  keys = layer.keys;
  values = layer.values;
  layers_.push_back(std::move(layer));
}

void KeyValueCache::update_sliding(Tensor& keys, Tensor& values) {
  Tensor window;
  if (keys.runtime().transformers >= kFirstWindowTensor) {
    window = eager::empty(keys.runtime(), {}, DType::int64);
  }
  update(keys, values);
  layers_.back().window = std::move(window);
}

// A model whose blocks may be checkpointed switches the cache off in training
// (merge_with_config_defaults), no matter which blocks are.
CachePtr make_cache(const ModelContext& context) {
  const auto kind = context.plan.checkpoint.kind;
  const bool is_checkpointed = kind == CheckpointKind::full || kind == CheckpointKind::every_n;
  const bool is_kept = context.plan.use_cache && !(is_checkpointed && context.training);
  return is_kept ? std::make_shared<KeyValueCache>() : nullptr;
}

}  // namespace highwater::nn
