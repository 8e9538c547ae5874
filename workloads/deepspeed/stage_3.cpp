#include "workloads/deepspeed/stage_3.hpp"

#include <algorithm>
#include <utility>

#include "workloads/deepspeed/common/tensor_data.hpp"
#include "workloads/deepspeed/nvme.hpp"
#include "workloads/eager/host_copies.hpp"
#include "workloads/nn/backward_pass.hpp"
#include "workloads/plan/offload.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::deepspeed {

using eager::Tensor;

namespace {

Tensor cloned(const Tensor& tensor) {
  return optim::make_like("clone", tensor);
}

Tensor widened(const Tensor& tensor) {
  return tensor.dtype() == DType::fp32 ? tensor : optim::make_like("to", tensor, DType::fp32);
}

// Types are converted on the host (Copy.cu: blocking copies).
Tensor moved(const Tensor& tensor, eager::Place place) {
  if (tensor.place() == place) {
    return tensor;
  }
  return place == eager::Place::host ? eager::to_host(tensor, false) : eager::to_cuda(tensor);
}

// torch.optim.AdamW with its defaults, whatever the host's optimizer is.
Optimizer backup_choice(const Optimizer& choice) {
  Optimizer backup = choice;
  backup.kind = OptimizerKind::adamw;
  backup.impl = OptimizerImpl::standard;
  return backup;
}

// A group of one rank, or of none, has no communicator.
CommBackend second_backend(const TrainingPlan& plan) {
  return partition_ranks(plan).sharing_second_copy > 1 ? plan.parallel.backend : CommBackend::fake;
}

Tensor moved_as_fp32(const Tensor& tensor, eager::Place place) {
  return place == eager::Place::host ? widened(moved(tensor, place))
                                     : moved(widened(tensor), place);
}

}  // namespace

Stage3::Stage3(dist::ProcessGroup& group, nn::Module& model, const TrainingPlan& plan,
               const std::vector<std::vector<Tensor>>& groups, PartitionedParameters made)
    : group_(group),
      world_(group.runtime(), group.size(), plan.parallel.backend),
      runtime_(group.runtime()),
      model_(model),
      plan_(plan),
      zero_(plan.parallel.zero),
      dtype_(groups.front().front().dtype()),
      parameters_(std::move(made)),
      offloads_(offloads_optimizer(plan.parallel)),
      offloads_params_(offloads_params(plan.parallel)),
      second_copies_(group.runtime(), std::max(partition_ranks(plan).sharing_second_copy, 1),
                     second_backend(plan)),
      coordinator_(group, second_copies_, plan,
                   [this](const nn::Module& module) { return parameters_of(module); }) {
  remember_parameters();
  split_parameters();
  mark_persistent();
  hang_hooks();
  make_backup_optimizer();
  {
    const eager::OpScope op(runtime_, "zeros");
    inf_or_nan_tracker_ = eager::empty_on(runtime_, device(), {1}, DType::boolean);
  }
  sub_groups_ = make_sub_groups(partitioned(groups), zero_.sub_group_size);
  place_sub_groups();
  world_.barrier();
  flatten_partitions();
  count_nvme_buffers();
  make_masters();
  world_.barrier();
  initialize_states();
  world_.barrier();
  ParameterGroup trainable;
  for (const SubGroup& sub_group : sub_groups_) {
    trainable.insert(trainable.end(), sub_group.parameters.begin(), sub_group.parameters.end());
  }
  const GradientTypes types{.sent = plan.parallel.cp > 1 ? DType::fp32 : dtype_, .kept = dtype_};
  gradients_.emplace(
      group_, zero_, data_group(plan.parallel).rank, types, trainable,
      GradientPlace{.offloads = offloads_, .pins = pins_memory(plan.parallel.zero, plan.versions)});
  hook_into_backward();
}

Stage3::~Stage3() {
  for (const auto& node : hooked_) {
    node->post_hook = nullptr;
  }
}

// _convert_to_zero_parameters, parameter by parameter: those that zero.Init() has not partitioned
// are broadcast (once more) and partitioned.
void Stage3::split_parameters() {
  for (const nn::NamedTensor& named : nn::named_parameters(model_)) {
    if (by_tensor_.contains(named.tensor.get())) {
      continue;
    }
    auto& parameter = *parameters_.emplace_back(std::make_unique<PartitionedParameter>());
    parameter.tensor = named.tensor;
    parameter.id = parameters_.size() - 1;
    world_.broadcast(named.tensor).wait();
    parameter.split(partition_ranks(plan_), partition_place(plan_));
    by_tensor_[parameter.tensor.get()] = &parameter;
  }
}

void Stage3::remember_parameters() {
  for (const auto& parameter : parameters_) {
    by_tensor_[parameter->tensor.get()] = parameter.get();
  }
}

void Stage3::mark_persistent() {
  std::int64_t total = 0;
  for (const nn::NamedTensor& named : nn::named_parameters(model_)) {
    PartitionedParameter* const parameter = by_tensor_.at(named.tensor.get());
    const bool has_room = parameter->numel <= zero_.model_persistence_threshold - total;
    if (has_room && parameter->numel <= zero_.param_persistence_threshold) {
      parameter->persists = true;
      persistent_.push_back(parameter);
      total += parameter->numel;
    }
  }
}

void Stage3::hang_hooks() {
  const auto visit = [this](auto& self, nn::Module& module) -> void {
    ParameterGroup own;
    for (const nn::NamedTensor& named : module.own_parameters()) {
      const auto found = by_tensor_.find(named.tensor.get());
      if (found != by_tensor_.end() && std::ranges::find(own, found->second) == own.end()) {
        own.push_back(found->second);
      }
    }
    std::ranges::sort(own, {}, &PartitionedParameter::id);
    by_module_[&module] = std::move(own);
    module.add_forward_hooks(std::make_shared<ModuleHooks>(
        coordinator_, returned_, module,
        [this](const nn::Module& reader, const Tensor& read) { gather_external(reader, read); }));
    for (nn::Module* child : module.children()) {
      self(self, *child);
    }
  };
  visit(visit, model_);
}

// ZeROOrderedDict and register_external_parameter: what a module reads of another one while it is
// partitioned is gathered at once, and belongs to the reader as well from then on.
void Stage3::gather_external(const nn::Module& reader, const Tensor& read) {
  const auto found = by_tensor_.find(read.get());
  if (found == by_tensor_.end() || found->second->status != ParameterStatus::partitioned) {
    return;
  }
  ParameterGroup& own = by_module_.at(&reader);
  if (std::ranges::find(own, found->second) == own.end()) {
    own.push_back(found->second);
    std::ranges::sort(own, {}, &PartitionedParameter::id);
  }
  gather_one(*found->second);
}

ParameterGroup Stage3::parameters_of(const nn::Module& module) const {
  return by_module_.at(&module);
}

std::vector<ParameterGroup> Stage3::partitioned(
    const std::vector<std::vector<Tensor>>& groups) const {
  std::vector<ParameterGroup> result;
  for (const std::vector<Tensor>& group : groups) {
    ParameterGroup& parameters = result.emplace_back();
    for (const Tensor& tensor : group) {
      parameters.push_back(by_tensor_.at(tensor.get()));
    }
  }
  return result;
}

void Stage3::flatten_partitions() {
  if (offloads_params_) {
    const bool uses_nvme = zero_.param_device == OffloadDevice::nvme;
    move_to_host_buffers(sub_groups_, runtime_, dtype_,
                         uses_nvme ? std::optional(zero_.max_in_cpu) : std::nullopt);
  } else {
    partitions_ = defragment(sub_groups_, runtime_, dtype_);
  }
}

// backup_gpu_param, made where only a part of the sub-groups is on the host.
void Stage3::make_backup_optimizer() {
  if (offloads_ && zero_.offload_ratio != 1) {
    const eager::OpScope op(runtime_, "randn");
    const Tensor number = eager::empty(runtime_, {1}, DType::fp32);
    backup_param_ = number.dtype() == dtype_ ? number : optim::make_like("to", number, dtype_);
  }
}

void Stage3::place_sub_groups() {
  if (!offloads_) {
    return;
  }
  offload_part(sub_groups_, zero_.offload_ratio, deepspeed_release(plan_.versions));
  for (std::size_t i = 0; i < sub_groups_.size(); ++i) {
    SubGroup& sub_group = sub_groups_[i];
    sub_group.is_on_nvme = zero_.optimizer_device == OffloadDevice::nvme &&
                           is_swappable(sub_group.numel * item_size(DType::fp32));
    for (PartitionedParameter* parameter : sub_group.parameters) {
      parameter->nvme_sub_group = sub_group.is_on_nvme ? std::optional(i) : std::nullopt;
    }
  }
}

void Stage3::count_nvme_buffers() {
  if (offloads_params_ && zero_.param_device == OffloadDevice::nvme) {
    count_parameter_buffers(runtime_, plan_, dtype_, sub_groups_);
  }
  if (offloads_ && zero_.optimizer_device == OffloadDevice::nvme) {
    count_optimizer_buffers(runtime_, plan_, sub_groups_);
  }
}

void Stage3::make_masters() {
  const eager::NoGrad no_grad(runtime_);
  for (SubGroup& sub_group : sub_groups_) {
    sub_group.master = made_master(sub_group);
    sub_group.master->requires_grad = true;
    runtime_.categorize(sub_group.master, Category::optimizer_state);
  }
}

// 0.19.8 means to take fp32 partitions on the GPU as they are, but compares their device with its
// name, a string, which no device equals: they are copied, too.
Tensor Stage3::made_master(const SubGroup& sub_group) const {
  if (sub_group.is_on_nvme) {  // between steps it takes no memory
    return eager::empty_on(runtime_, sub_group.place, {0}, DType::fp32);
  }
  if (!sub_group.flat.defined()) {  // read from NVMe
    const eager::OpScope op(runtime_, "empty");
    return eager::empty_on(runtime_, sub_group.place, {sub_group.numel}, DType::fp32);
  }
  if (!is_recent_deepspeed(plan_.versions)) {
    return widened(cloned(moved(sub_group.flat, sub_group.place)));
  }
  return cloned(moved_as_fp32(sub_group.flat, sub_group.place));
}

// One fp32 gradient of the largest sub-group for a moment; states are created in the first step.
void Stage3::initialize_states() {
  const auto largest = std::ranges::max_element(sub_groups_, {}, &SubGroup::numel);
  if (offloads_) {
    offload_states();
  } else {
    const eager::OpScope op(runtime_, "zeros");
    eager::empty(runtime_, {largest->numel}, DType::fp32);
  }
  std::vector<std::vector<Tensor>> masters;
  for (std::size_t i = 0; i < sub_groups_.size(); ++i) {
    if (sub_groups_[i].place == device()) {
      masters.push_back({sub_groups_[i].master});
    } else {
      backup_[i] =
          std::make_unique<OptimizerRun>(runtime_, backup_choice(plan_.optimizer),
                                         std::vector<std::vector<Tensor>>{{sub_groups_[i].master}});
    }
  }
  Optimizer choice = plan_.optimizer;
  const bool is_adam = choice.kind == OptimizerKind::adam || choice.kind == OptimizerKind::adamw;
  if (offloads_ && is_adam) {
    choice.impl = OptimizerImpl::fused;  // DeepSpeedCPUAdam: zero_force_ds_cpu_optimizer
  }
  optimizer_.emplace(runtime_, choice, masters);
}

// Gradients on the host are allocated once and stay.
void Stage3::offload_states() {
  for (SubGroup& sub_group : sub_groups_) {
    const eager::OpScope op(runtime_, "zeros");
    const std::int64_t numel = sub_group.is_on_nvme ? 0 : sub_group.numel;
    Tensor gradient = eager::empty_on(runtime_, eager::Place::host, {numel}, DType::fp32);
    if (pins_memory(plan_.parallel.zero, plan_.versions) && !sub_group.is_on_nvme) {
      gradient = eager::pin_memory(gradient);
    }
    gradient = moved(gradient, sub_group.place);
    runtime_.categorize(gradient, Category::gradient);
    sub_group.master->grad = gradient;
  }
}

// create_reduce_and_remove_grad_hooks gathers each parameter to find its node.
void Stage3::hook_into_backward() {
  const eager::Scoped<bool> grad_mode(runtime_.grad_enabled, true);
  for (const SubGroup& sub_group : sub_groups_) {
    for (PartitionedParameter* parameter : sub_group.parameters) {
      gather_one(*parameter);
      hooked_.push_back(eager::begin_node(runtime_, "", {parameter->tensor})->next_edges[0].node);
      hooked_.back()->post_hook = [this, parameter](Tensor&) { gradients_->add(*parameter); };
      parameter->release();
    }
  }
}

// Without a copy of the gathered block in 0.19.8 (_allgather_params_sequential).
void Stage3::gather_one(PartitionedParameter& parameter) {
  if (is_recent_deepspeed(plan_.versions)) {
    gather_sequentially(group_, parameter);
  } else {
    gather_now(group_, parameter);
  }
}

void Stage3::backward(const Tensor& loss, BackwardPass pass) {
  gradients_->set_micro_step(micro_step_, pass);
  const bool is_recent = is_recent_deepspeed(plan_.versions);
  scaled_loss_ = eager::mul(is_recent ? loss : eager::to_dtype(loss, DType::fp32), 1.0);
  eager::backward(scaled_loss_);
  if (!is_recent) {
    scaled_loss_.reset();
  }
  returned_.clear();
}

void Stage3::reduce_gradients(BackwardPass /*pass*/) {
  gradients_->finish();
  if (is_recent_deepspeed(plan_.versions)) {
    coordinator_.release_leftovers();
  }
  scaled_loss_.reset();
  ++micro_step_;
}

}  // namespace highwater::deepspeed
