#include "workloads/nn/cache.hpp"

#include "workloads/plan/training_plan.hpp"

namespace highwater::nn {

// A Python list drops its items from the last to the first.
KeyValueCache::~KeyValueCache() {
  for (auto layer = layers_.rbegin(); layer != layers_.rend(); ++layer) {
    eager::end_of_frame(layer->keys, layer->values, layer->window);
  }
}

void KeyValueCache::update(Tensor& keys, Tensor& values) {
  // Both lists start as empty tensors of the keys' type, which is therefore used for both.
  const Tensor none = eager::empty(keys.runtime(), {0}, keys.dtype());
  Layer layer;
  layer.keys = eager::cat(std::initializer_list<Tensor>{none, keys}, -2);
  layer.values = eager::cat(std::initializer_list<Tensor>{none, values}, -2);
  keys = layer.keys;
  values = layer.values;
  layers_.push_back(std::move(layer));
}

void KeyValueCache::update_sliding(Tensor& keys, Tensor& values) {
  Tensor window = eager::empty(keys.runtime(), {}, DType::int64);
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
