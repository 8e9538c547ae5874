#include "workloads/distributed/fsdp2/fsdp_tensor_parallel.hpp"

#include "workloads/optim/clip_grad.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::dist {

using eager::Placement;
using eager::Tensor;

FsdpTensorParallel::FsdpTensorParallel(models::LanguageModel& model, const TrainingPlan& plan,
                                       ModelOrder order)
    : model_(model),
      tensor_parallel_(model, plan, order),
      fully_shard_(model, plan.parallel, order) {
  const std::vector<Tensor> wholes = tensor_parallel_.parameters();
  const std::vector<Tensor> shards = fully_shard_.parameters();
  for (std::size_t i = 0; i < wholes.size(); ++i) {
    const eager::DTensorSpec* spec = wholes[i]->spec;
    if (spec != nullptr && spec->placement == Placement::replicate) {
      eager::DTensorSpec& own = specs_.emplace_back();
      own.sizes = shards[i].sizes();  // placement and gradient: replicated, the default
      shards[i]->spec = &own;
    }
  }
}

// One dimension of the mesh after the other.
void FsdpTensorParallel::clip(const std::vector<Tensor>& parameters) {
  clip_grad_norm(model_.runtime(), parameters, [this](const Tensor& partial) {
    const Tensor over_dp = fully_shard_.resharding()->full_norm(partial);
    return tensor_parallel_.full_norm(over_dp);
  });
}

}  // namespace highwater::dist
