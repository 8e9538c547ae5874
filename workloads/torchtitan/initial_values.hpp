// What initialising the parameters takes on the GPU (Decoder.init_states of torchtitan 0.3).
//
// trunc_normal_ of torch 2.15 (nn/init.py: _no_grad_trunc_normal_) looks for values outside of its
// limits: masks of the parameter's size, and of DTensors the whole mask, gathered, to ask whether
// any is true. Others are filled in place. That some are outside, and drawn again, is left out.
#pragma once

#include <cstdint>

#include "workloads/nn/layers.hpp"

namespace highwater {
struct TrainingPlan;
}

namespace highwater::torchtitan {

class InitialValues {
 public:
  /// `plan` must outlive it.
  explicit InitialValues(const TrainingPlan& plan) : plan_(plan) {}

  /// trunc_normal_ of a weight of which this rank may hold a part.
  void truncated_normal(const nn::Linear& linear) const;

  /// _fused_qkv_param_init: whole weights of queries, keys and values are drawn, then joined, and
  /// this rank's rows are copied. `heads_per_kv`: query heads for each head of keys.
  void fused(const nn::Linear& linear, std::int64_t heads_per_kv) const;

 private:
  [[nodiscard]] std::int64_t local_numel(const eager::Tensor& weight) const;

  const TrainingPlan& plan_;
};

}  // namespace highwater::torchtitan
