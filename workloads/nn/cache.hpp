// transformers' DynamicCache: keys and values of every layer, kept by the model's output.
#pragma once

#include <memory>
#include <vector>

#include "workloads/nn/module.hpp"

namespace highwater::nn {

class KeyValueCache {
 public:
  KeyValueCache() = default;
  KeyValueCache(const KeyValueCache&) = delete;
  KeyValueCache& operator=(const KeyValueCache&) = delete;
  ~KeyValueCache();

  /// DynamicLayer.update of a layer seen for the first time: concatenates with an empty tensor,
  /// which copies keys and values; attention continues with the copies.
  void update(Tensor& keys, Tensor& values);

  /// DynamicSlidingWindowLayer.update: the same, and the window's size on the device. It keeps a
  /// view of everything.
  void update_sliding(Tensor& keys, Tensor& values);

 private:
  struct Layer {
    Tensor keys;
    Tensor values;
    Tensor window;  ///< of a sliding layer
  };

  std::vector<Layer> layers_;
};

/// Null unless the plan uses `--use-cache`.
using CachePtr = std::shared_ptr<KeyValueCache>;

CachePtr make_cache(const ModelContext& context);

}  // namespace highwater::nn
