// torch.nn.parallel.DistributedDataParallel around a model.
//
// Mirrors torch/nn/parallel/distributed.py of PyTorch 2.6 with device_ids of one GPU, buffers
// broadcast from rank 0 before each forward that follows a reduction, find_unused_parameters off.
#pragma once

#include <vector>

#include "workloads/dist/process_group.hpp"
#include "workloads/dist/reducer.hpp"
#include "workloads/models/language_model.hpp"

namespace highwater::dist {

class DistributedDataParallel {
 public:
  /// `model` must outlive the wrapper. Collectives go over `plan.dp` ranks.
  DistributedDataParallel(models::LanguageModel& model, const Parallelism& plan);

  models::Outputs forward(models::Inputs inputs);

  /// no_sync() for a scope: forward and backward inside of it reduce nothing.
  class NoSync : eager::Scoped<bool> {
   public:
    explicit NoSync(DistributedDataParallel& ddp) : Scoped(ddp.syncs_gradients_, false) {}
  };

  [[nodiscard]] const Reducer& reducer() const { return reducer_; }

 private:
  void before_forward();
  void after_forward(models::Outputs& outputs);
  void sink(models::Outputs& outputs);
  void delay_all_reduce_once();

  models::LanguageModel& model_;
  ProcessGroup group_;
  Reducer reducer_;
  bool static_graph_;
  bool delays_all_reduce_ = false;  ///< the static graph's first backward has begun
  bool syncs_gradients_ = true;     ///< require_backward_grad_sync
  bool syncs_buffers_ = true;       ///< require_forward_param_sync
};

}  // namespace highwater::dist
