// Megatron-Core's DistributedDataParallel: gradients are added to one contiguous buffer as they
// arrive, and reduced from there, all at once or bucket by bucket during the backward.
//
// Source: Megatron-Core 0.16.1, core/distributed/distributed_data_parallel.py,
// param_and_grad_buffer.py and finalize_model_grads.py. Buckets are views, so the time of their
// reduction does not change what is allocated; it determines which collectives the blocks wait for.
#pragma once

#include <optional>
#include <vector>

#include "workloads/distributed/process_group.hpp"
#include "workloads/eager/node.hpp"
#include "workloads/megatron/data_parallel/param_and_grad_buffer.hpp"
#include "workloads/nn/backward_pass.hpp"
#include "workloads/nn/module.hpp"

namespace highwater {
struct TrainingPlan;
}

namespace highwater::megatron {

using eager::Tensor;

/// Those that require gradients: of all ranks alike, or those of experts spread over ranks.
std::vector<nn::NamedTensor> dense_parameters(nn::Module& model, const Parallelism& plan);
std::vector<nn::NamedTensor> expert_parameters(nn::Module& model, const Parallelism& plan);

/// Whether Muon's matrices are shared out by LayerWiseDistributedOptimizer and have buffers of
/// their own (megatron/training/arguments.py: --optimizer muon with --use-distributed-optimizer).
bool is_layer_wise(const TrainingPlan& plan);

/// Those of `named` that Muon takes, or all others.
std::vector<nn::NamedTensor> matrices_of(const std::vector<nn::NamedTensor>& named);
std::vector<nn::NamedTensor> others_of(const std::vector<nn::NamedTensor>& named);

/// Their numbers of elements.
std::vector<std::int64_t> numels_of(const std::vector<nn::NamedTensor>& named);

/// Which of them is the embedding that the first and the last stage of a pipeline both have; none
/// unless the model ties it to the head.
std::optional<std::size_t> shared_embedding(const std::vector<nn::NamedTensor>& parameters,
                                            const TrainingPlan& plan);

class DistributedDataParallel {
 public:
  /// Makes the buffers of `parameters`, whose gradients `group` sums; with the distributed
  /// optimizer the parameters move into one of them. Experts that are spread over ranks have
  /// buffers of their own (expert_parallel_buffers), so there is one object for each kind.
  DistributedDataParallel(std::vector<nn::NamedTensor> parameters, const Parallelism& plan,
                          const GroupPlace& group,
                          std::optional<std::size_t> shared_embedding = std::nullopt,
                          Shards shards = Shards::bytes);
  DistributedDataParallel(const DistributedDataParallel&) = delete;
  DistributedDataParallel& operator=(const DistributedDataParallel&) = delete;
  ~DistributedDataParallel();

  /// The gradients of the coming backward are the last of this step: buckets that are full are
  /// reduced at once if the plan overlaps. Before the second step it is unknown when they are full.
  void expect(BackwardPass pass) { pass_ = pass; }

  /// finish_grad_sync: reduces whatever is not yet reduced, and the main stream waits.
  void finish_grad_sync();

  /// start_param_sync: gathers all ranks' shards of the parameters into the buffer.
  void gather_params();

  void zero_grad_buffer();

  [[nodiscard]] const std::vector<nn::NamedTensor>& named() const { return named_; }

  [[nodiscard]] const BufferLayout& layout() const { return layout_; }

  /// A view of [range) of the gradients.
  [[nodiscard]] Tensor gradients(const Range& range) const { return view(grad_data_, range); }

  [[nodiscard]] bool is_distributed() const { return rules_.is_distributed; }

  /// This rank's among those that share gradients.
  [[nodiscard]] const GroupPlace& place() const { return place_; }

 private:
  static Tensor view(const Tensor& data, const Range& range);

  void move_parameters();
  void hook_into_backward();
  void on_gradient(std::size_t param);
  void reduce(std::size_t bucket);

  std::vector<nn::NamedTensor> named_;
  dist::ProcessGroup group_;
  GroupPlace place_;
  BufferRules rules_;
  bool overlaps_;
  BufferLayout layout_;
  Tensor param_data_;
  Tensor grad_data_;
  std::vector<eager::Ref<eager::Node>> accumulators_;
  std::vector<std::size_t> pending_;  ///< gradients that each bucket waits for
  std::vector<dist::Work> works_;
  std::vector<bool> is_reduced_;
  BackwardPass pass_ = BackwardPass::last;
  bool is_first_batch_ = true;
};

}  // namespace highwater::megatron
