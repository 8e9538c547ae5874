// Stage 3's step: norms and overflow, updates of sub-groups on the GPU and on the host, and the
// gathering of persistent parameters (stage3.py: step(), _optimizer_step() and what they call).
#include <algorithm>
#include <iterator>
#include <string_view>

#include "workloads/deepspeed/common/gradient_scale.hpp"
#include "workloads/deepspeed/common/tensor_data.hpp"
#include "workloads/deepspeed/stage_3.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::deepspeed {

using eager::Tensor;
using optim::TensorVector;

void Stage3::step() {
  micro_step_ = 0;
  coordinator_.release_all(parameters_);
  if (offloads_) {
    offloaded_step();
    return;
  }
  if (dtype_ == DType::fp16) {
    check_overflow();
  }
  TensorVector norm_groups;
  for (const SubGroup& sub_group : sub_groups_) {
    norm_groups.push_back(norm_of(sub_group));
  }
  Tensor norm = norm_of(norm_groups);
  global_norm_ = optim::make_like("div", norm);
  for (std::size_t i = 0; i < sub_groups_.size(); ++i) {
    update(i, norm);
  }
  gather_persistent();
  drop_second_copies();
  if (is_recent_deepspeed(plan_.versions)) {
    norm.reset();
  }
  norm_groups.clear();
}

// has_overflow: two passes over all gradients at once, on the stream of reductions.
void Stage3::check_overflow() {
  Tensor overflow_gpu;
  {
    const eager::Scoped<StreamId> on_stream(runtime_.stream, gradients_->stream());
    for (const char* op : {"isinf", "isnan"}) {
      const bool is_inf = std::string_view(op) == "isinf";
      const Tensor& all = gradients_->buffer();
      Tensor found = is_inf ? isinf(all) : optim::make_like(op, all, DType::boolean);
      Tensor any = eager::reduce_plain("any", found, {}, eager::KeepDim::no, DType::boolean);
      found.reset();
    }
    Tensor copy = optim::make_like("clone", inf_or_nan_tracker_);
    overflow_gpu = optim::make_like("to", copy, DType::uint8);
  }
  group_.all_reduce(overflow_gpu).wait();
  runtime_.synchronize();
}

// The host checks its gradients itself; ranks agree via the GPU.
void Stage3::check_overflow_of_host() {
  Tensor overflow_gpu;
  {
    const eager::Scoped<StreamId> on_stream(runtime_.stream, gradients_->stream());
    const eager::OpScope op(runtime_, "to");
    const Tensor copy = eager::empty(runtime_, {1}, DType::boolean);
    overflow_gpu = optim::make_like("to", copy, DType::uint8);
  }
  group_.all_reduce(overflow_gpu).wait();
  runtime_.synchronize();
}

// complete_grad_norm_calculation_for_cpu_offload: the norm goes to the host in the end.
void Stage3::reduce_norm_of_host(const SubGroup& sub_group) {
  Tensor total_norm;
  for (const PartitionedParameter* parameter : sub_group.parameters) {
    const Tensor norm = gradients_->norm_of(*parameter);
    if (norm.defined()) {
      const Tensor square = optim::make_like("pow", norm);
      total_norm = total_norm.defined() ? total_norm : optim::make_like("add", square);
    }
  }
  runtime_.synchronize();
  Tensor total_norm_cuda;
  {
    const eager::OpScope op(runtime_, "FloatTensor");
    total_norm_cuda = eager::empty(runtime_, {1}, DType::fp32);
  }
  group_.all_reduce(total_norm_cuda).wait();
  total_norm = optim::make_like("pow", eager::select(total_norm_cuda, 0, 0));
  if (is_recent_deepspeed(plan_.versions)) {
    mask_in_place(total_norm);
    runtime_.synchronize();
    eager::end_of_frame(total_norm, total_norm_cuda);
    return;
  }
  FiniteNorm locals(total_norm, deepspeed_release(plan_.versions));
  runtime_.synchronize();
  total_norm.reset();
  total_norm_cuda.reset();
  eager::end_of_frame(locals.is_inf, locals.is_nan, locals.inf_or_nan, locals.err);
}

// The host's optimizer; its fp32 copies are cast there and copied into the partitions (Copy.cu:
// types are converted on the CPU).
void Stage3::offloaded_step() {
  if (dtype_ == DType::fp16) {
    check_overflow_of_host();
  }
  for (const SubGroup& sub_group : sub_groups_) {
    reduce_norm_of_host(sub_group);
  }
  update_offloaded();
  gradients_->reset_norms();
  gather_persistent();
  drop_second_copies();
}

// _optimizer_step: sub-groups on the GPU are updated there, one by one.
void Stage3::update_offloaded() {
  for (std::size_t i = 0; i < sub_groups_.size(); ++i) {
    if (sub_groups_[i].is_on_nvme) {
      gradients_->take_rest_of(i);
    } else if (const auto backup = backup_.find(i); backup != backup_.end()) {
      backup_param_.reset();
      backup->second->step();
      write_back(sub_groups_[i]);
    }
  }
  optimizer_->step();
  runtime_.synchronize();
}

// get_grad_norm_direct: everything up to the end is fp64 here.
Tensor Stage3::norm_of(const SubGroup& sub_group) {
  TensorVector grad_norms;
  for (const PartitionedParameter* parameter : sub_group.parameters) {
    const Tensor wide = optim::make_like("to", gradients_->partition_of(*parameter), kDouble);
    grad_norms.push_back(optim::vector_norm(wide, {}, eager::KeepDim::no));
  }
  Tensor total_norm_cuda = eager::stack({grad_norms.begin(), grad_norms.end()}, 0);
  total_norm_cuda = optim::make_like("pow", total_norm_cuda);
  total_norm_cuda = eager::sum(total_norm_cuda, {}, eager::KeepDim::no, kDouble);
  group_.all_reduce(total_norm_cuda).wait();
  Tensor total_norm = optim::make_like("pow", total_norm_cuda);
  FiniteNorm locals(total_norm, deepspeed_release(plan_.versions));
  total_norm_cuda.reset();
  grad_norms.clear();
  eager::end_of_frame(locals.is_inf, locals.is_nan, locals.inf_or_nan, locals.err);
  return total_norm;
}

// scaled_global_grad_norm
Tensor Stage3::norm_of(const TensorVector& groups) {
  if (!is_recent_deepspeed(plan_.versions)) {
    return norm_of_groups(groups);
  }
  Tensor norm = combined_norm(groups);
  ask_whether_invalid(norm);
  return norm;
}

void Stage3::update(std::size_t index, const Tensor& norm) {
  SubGroup& sub_group = sub_groups_[index];
  {
    std::vector<Tensor> averaged;
    for (const PartitionedParameter* parameter : sub_group.parameters) {
      averaged.push_back(gradients_->partition_of(*parameter));
    }
    const Tensor flat = flatten_dense(averaged);
    sub_group.master->grad = eager::to_dtype(flat, DType::fp32);
    runtime_.categorize(sub_group.master->grad, Category::gradient);
  }
  if (clips_gradients(plan_.grad_clip, plan_.versions)) {
    unscale_and_clip(norm);
  }
  optimizer_->step();
  write_back(sub_group);
  sub_group.master->grad.reset();
}

// _reassign_or_swap_out_partitioned_parameters: flat.copy_(master). Between GPU and host the copy
// goes through the host's memory in the master's type.
void Stage3::write_back(const SubGroup& sub_group) {
  runtime_.launch(1);
  if (!sub_group.flat.defined()) {
    runtime_.synchronize();  // by way of the buffer of updated parameters
    return;
  }
  if (sub_group.flat.place() == sub_group.master.place()) {
    return;
  }
  if (sub_group.flat.dtype() != sub_group.master.dtype()) {
    eager::empty_on(runtime_, eager::Place::host, {sub_group.numel}, sub_group.master.dtype());
  }
  runtime_.synchronize();
}

// invalidate_secondary_tensor: frozen parameters keep theirs.
void Stage3::drop_second_copies() {
  for (const SubGroup& sub_group : sub_groups_) {
    for (PartitionedParameter* parameter : sub_group.parameters) {
      parameter->second_copy.reset();
    }
  }
}

// persistent_parameters[0].all_gather(persistent_parameters)
void Stage3::gather_persistent() {
  ParameterGroup gone;
  std::ranges::copy_if(persistent_, std::back_inserter(gone), [](const auto* parameter) {
    return parameter->status == ParameterStatus::partitioned;
  });
  if (gone.size() == 1) {
    gather_one(*gone.front());
  } else if (!gone.empty()) {
    gather_now(group_, gone);
  }
}

}  // namespace highwater::deepspeed
