#include "workloads/deepspeed/zero_init.hpp"

#include <algorithm>
#include <utility>

#include <boost/unordered/unordered_flat_set.hpp>

#include "workloads/deepspeed/common/tensor_data.hpp"
#include "workloads/plan/deepspeed_release.hpp"
#include "workloads/plan/offload.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::deepspeed {
namespace {

using eager::Tensor;

class ZeroInit {
 public:
  ZeroInit(dist::ProcessGroup& group, PartitionPlace where, const TrainingPlan& plan)
      : group_(group), where_(where), ranks_(partition_ranks(plan)), lora_(plan.lora) {}

  PartitionedParameters partition(nn::Module& model) {
    visit(model);
    dropped_.clear();  // tie_weights() comes last
    return std::move(made_);
  }

 private:
  void visit(nn::Module& module) {
    PartitionedParameters own;
    for (const nn::NamedTensor& named : module.own_parameters()) {
      if (!is_of_adapter(named.tensor)) {
        own.push_back(made(named.tensor));
      }
    }
    for (auto& parameter : own) {
      group_.broadcast(parameter->tensor).wait();
      parameter->split(ranks_, where_);
      keep(std::move(parameter));
    }
    for (nn::Module* child : module.children()) {
      visit(*child);
    }
  }

  // They come after the model.
  [[nodiscard]] bool is_of_adapter(const Tensor& parameter) const {
    return lora_.rank > 0 && parameter.requires_grad();
  }

  // A tied parameter was separate until the model was complete.
  std::unique_ptr<PartitionedParameter> made(const Tensor& tensor) {
    auto parameter = std::make_unique<PartitionedParameter>();
    const bool is_tied = !seen_.insert(tensor.get()).second;
    parameter->tensor = is_tied ? eager::alias(tensor) : tensor;
    const eager::Dims sizes = is_tied ? sizes_of(tensor) : tensor.sizes();
    eager::Runtime& runtime = group_.runtime();
    const eager::OpScope op(runtime, "empty", 0);
    set_data(parameter->tensor, eager::empty(runtime, sizes, tensor.dtype()));
    runtime.categorize(parameter->tensor, Category::parameter);
    return parameter;
  }

  [[nodiscard]] eager::Dims sizes_of(const Tensor& partitioned) const {
    const auto found = std::ranges::find(made_, partitioned.get(),
                                         [](const auto& other) { return other->tensor.get(); });
    return (*found)->sizes;
  }

  void keep(std::unique_ptr<PartitionedParameter> parameter) {
    auto& list = seen_.contains(parameter->tensor.get()) ? made_ : dropped_;
    parameter->id = made_.size();
    list.push_back(std::move(parameter));
  }

  dist::ProcessGroup& group_;
  PartitionPlace where_;
  PartitionRanks ranks_;
  const Lora& lora_;
  PartitionedParameters made_;
  PartitionedParameters dropped_;
  boost::unordered_flat_set<const eager::TensorImpl*> seen_;
};

}  // namespace

PartitionPlace partition_place(const TrainingPlan& plan) {
  if (!offloads_params(plan.parallel)) {
    return PartitionPlace::gpu;
  }
  const bool pins = pins_memory(plan.parallel.zero, plan.versions);
  if (plan.parallel.zero.param_device == OffloadDevice::nvme) {
    return pins ? PartitionPlace::nvme_and_pinned : PartitionPlace::nvme;
  }
  return pins ? PartitionPlace::pinned : PartitionPlace::pageable;
}

PartitionedParameters partition_as_made(dist::ProcessGroup& group, models::LanguageModel& model,
                                        PartitionPlace where) {
  return ZeroInit(group, where, model.context().plan).partition(model);
}

// groups.py: _create_zero_param_parallel_group, of min(group_size, world_size) ranks.
PartitionRanks partition_ranks(const TrainingPlan& plan) {
  const Parallelism& p = plan.parallel;
  const int all = data_group(p).ranks;
  const int asked = p.zero.hpz_partition_size;
  return {.all = all, .sharing_second_copy = asked > 1 ? std::min(asked, all) : 0};
}

}  // namespace highwater::deepspeed
