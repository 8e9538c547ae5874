// NVIDIA Apex's DistributedFusedAdam as NeMo drives it: states and gradients live in buckets of a
// fixed size, one group of buckets for each layer.
//
// Sources: apex/contrib/optimizers/distributed_fused_adam.py (2023) and NeMo 1.20,
// nemo/collections/nlp/models/language_modeling/{megatron_base_model,megatron_gpt_model}.py:
// setup_optimization (contiguous_grad_buffer, store_param_remainders), configure_optimizers (a
// bucket for each layer, the last layers first; the first layer's takes all other parameters).
#pragma once

#include <vector>

#include "workloads/distributed/process_group.hpp"
#include "workloads/eager/node.hpp"
#include "workloads/megatron/data_parallel/apex_buckets.hpp"
#include "workloads/nn/backward_pass.hpp"
#include "workloads/nn/module.hpp"
#include "workloads/plan/megatron_options.hpp"

namespace highwater {
struct Parallelism;
}

namespace highwater::megatron {

using eager::Tensor;

/// configure_optimizers: indices of `named`, grouped as the optimizer's buckets are.
std::vector<std::vector<std::size_t>> layer_groups(const std::vector<nn::NamedTensor>& named);

class ApexDistributedAdam {
 public:
  ApexDistributedAdam(nn::Module& model, const Parallelism& plan);
  ApexDistributedAdam(const ApexDistributedAdam&) = delete;
  ApexDistributedAdam& operator=(const ApexDistributedAdam&) = delete;
  ~ApexDistributedAdam();

  /// The coming backward is the last of this step: buckets that are full are reduced at once
  /// (overlap_grad_sync).
  void expect(BackwardPass pass) { pass_ = pass; }

  /// grad_sync: reduces whatever is not yet reduced.
  void sync_gradients();

  void clip_grad_norm();
  void step();
  void zero_grad();

  [[nodiscard]] const ApexBuckets& buckets() const { return buckets_; }

  [[nodiscard]] BucketUse bucket_use() const;

 private:
  struct Bucket {
    std::vector<Tensor> state;  ///< remainders or fp32 parameters, and two moments
    Tensor grads;               ///< grads_bucket, unless the buffer is one
    Tensor grads_shard;
    Tensor params_shard;
    bool is_synced = false;
  };

  Tensor make(const char* op, std::int64_t elements, DType dtype, Category category) const;
  [[nodiscard]] std::vector<DType> state_dtypes() const;
  void make_states();
  void hook_into_backward();
  void on_gradient(std::size_t param, std::size_t group);
  void start_sync(std::size_t group);
  void reset_counts();

  std::vector<nn::NamedTensor> named_;
  std::vector<std::vector<std::size_t>> groups_;
  dist::ProcessGroup group_;
  ApexBuckets buckets_;
  Apex options_;
  DType param_dtype_;
  Tensor grad_scale_;
  Tensor overflow_;
  Tensor grad_buffer_;
  std::vector<Bucket> made_;
  std::vector<std::size_t> pending_;  ///< parameters of each group without a gradient
  std::vector<eager::Ref<eager::Node>> accumulators_;
  BackwardPass pass_ = BackwardPass::last;
};

}  // namespace highwater::megatron
