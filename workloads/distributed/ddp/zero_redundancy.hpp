// What torch.distributed.optim.ZeroRedundancyOptimizer puts around an optimizer: it gives each rank
// a part of the parameters to step, whole tensors, and sends what was stepped to all others.
//
// Mirrors torch/distributed/optim/zero_redundancy_optimizer.py of PyTorch 2.15 (the same since 2.0)
// without overlap_with_ddp. The optimizer itself (OptimizerRun) knows only its part; gradients are
// zeroed and clipped, and searched for infinities, on all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "workloads/eager/tensor.hpp"
#include "workloads/plan/ddp_options.hpp"
#include "workloads/plan/parallelism.hpp"

namespace highwater::dist {

/// An optimizer's parameter groups.
using ParameterGroups = std::vector<std::vector<eager::Tensor>>;

/// _partition_parameters, by rank and group: which of a group's tensors the rank steps, in the
/// order of its own optimizer. In each group the largest comes first, and goes to the rank that has
/// the fewest elements so far. `groups` are the numbers of elements.
std::vector<std::vector<std::vector<std::size_t>>> parts_of_ranks(
    const std::vector<std::vector<std::int64_t>>& groups, int ranks);

class ZeroRedundancy {
 public:
  /// `place` is this rank's among those that share gradients.
  ZeroRedundancy(ParameterGroups groups, GroupPlace place, ZeroRedundancyKind kind);

  /// Those of the optimizer for this rank's part.
  [[nodiscard]] const ParameterGroups& own_groups() const {
    return parts_[static_cast<std::size_t>(rank_)];
  }

  /// _build_param_buckets, once the optimizer for its part is there: the parameters of each rank
  /// move into one block.
  void move_to_buckets();

  /// _sync_params: what is broadcast after the step.
  [[nodiscard]] const std::vector<eager::Tensor>& sent() const { return sent_; }

  /// zero_grad(set_to_none=True) of all parameters.
  void free_gradients();

 private:
  ParameterGroups groups_;
  std::vector<ParameterGroups> parts_;
  int rank_;
  ZeroRedundancyKind kind_;
  std::vector<eager::Tensor> sent_;
};

}  // namespace highwater::dist
