// What selective checkpointing keeps: the outputs of expensive operators, stored in forward and
// handed out again, in the same order, when the segment is recomputed.
//
// Kept are mm, bmm, addmm and the fused kernels of scaled_dot_product_attention: the operators of
// torchtitan's list (torch/_functorch/partitioners.py, compute_intensive_ops) that occur here.
// Everything else, baddbmm included, is recomputed. Source: _CachingTorchDispatchMode and
// _CachedTorchDispatchMode of torch/utils/checkpoint.py (PyTorch 2.6).
//
// torchtitan's own policy keeps only every second mm, starting with the first (parallelize_llama.py
// of December 2024: _get_custom_policy).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "workloads/eager/runtime.hpp"

namespace highwater::eager {

/// Which outputs of mm are kept.
enum class KeptProducts : std::uint8_t { all, every_second };

class OutputCache {
 public:
  explicit OutputCache(KeptProducts products) : products_(products) {}

  OutputCache(const OutputCache&) = delete;
  OutputCache& operator=(const OutputCache&) = delete;
  /// Releases what early stopping left: operators by first appearance, each one's outputs from the
  /// last to the first.
  ~OutputCache();

  /// From now on outputs are reused instead of stored.
  void replay() {
    is_replay_ = true;
    mm_count_ = 0;
  }

  /// Whether the policy keeps the outputs of `op`, which is about to run.
  bool keeps(std::string_view op) {
    return products_ == KeptProducts::all || op != "mm" || ++mm_count_ % 2 == 1;
  }

  [[nodiscard]] bool is_replay() const { return is_replay_; }

  void store(const char* op, const TensorList& outputs);
  TensorList take(const char* op);

 private:
  struct Entries {
    const char* op;
    std::vector<TensorList> outputs;
    std::size_t taken = 0;
  };

  Entries& entries_of(const char* op);

  std::vector<Entries> entries_;
  KeptProducts products_;
  int mm_count_ = 0;  ///< in forward, then in the recomputation
  bool is_replay_ = false;
};

/// The outputs of a kept operator: `compute` makes them unless a recomputation finds them stored.
template <class Compute>
TensorList kept_outputs(Runtime& runtime, const char* op, Compute&& compute) {
  OutputCache* cache = runtime.output_cache;
  if (cache == nullptr || !cache->keeps(op)) {
    return compute();
  }
  if (cache->is_replay()) {
    return cache->take(op);
  }
  TensorList outputs = compute();
  cache->store(op, outputs);
  return outputs;
}

}  // namespace highwater::eager
