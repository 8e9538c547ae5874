#include "workloads/distributed/fsdp1/flat_param_handle.hpp"

#include <algorithm>
#include <utility>

#include "workloads/eager/host_copies.hpp"
#include "workloads/optim/tensor_vector.hpp"

namespace highwater::dist {

using eager::NoGrad;
using eager::Scoped;
using eager::Tensor;
using eager::TensorList;

namespace {

constexpr std::int64_t kAlignmentBytes = 16;  // _get_aligned_numel

// _get_orig_params.
std::vector<Tensor> managed_params(nn::Module& unit, FlattenedParams& flattened) {
  std::vector<Tensor> managed;
  for (const auto& entry : nn::named_parameters(unit)) {
    if (flattened.insert(entry.tensor.get()).second) {
      managed.push_back(entry.tensor);
    }
  }
  return managed;
}

// _construct_padding_tensor: ones * value.
Tensor padding_tensor(eager::Runtime& runtime, std::int64_t length, DType dtype) {
  Tensor ones;
  {
    const eager::OpScope op(runtime, "ones");
    ones = eager::empty(runtime, {length}, dtype);
  }
  return eager::mul(ones, 1.0);
}

}  // namespace

// VariableHooks::set_data (torch/csrc/autograd/variable.cpp): another type or
// device needs another AccumulateGrad.
void set_data(const Tensor& tensor, const Tensor& data) {
  if (tensor.dtype() != data.dtype() || tensor.place() != data.place()) {
    tensor->accumulator = nullptr;
  }
  tensor->storage = data->storage;
  tensor->sizes = data.sizes();
  tensor->strides = data.strides();
  tensor->offset = data->offset;
  tensor->dtype = data.dtype();
}

Tensor piece(const Tensor& flat, const Extent& extent) {
  return eager::slice(flat, 0, extent.offset, extent.offset + extent.length);
}

FlatParamHandle::FlatParamHandle(nn::Module& unit, FlattenedParams& flattened, ProcessGroup& group,
                                 int rank, const Fsdp& plan, bool offload_params)
    : runtime_(group.runtime()),
      group_(group),
      use_orig_params_(plan.use_orig_params),
      is_sharded_(group.size() > 1 && plan.strategy != ShardingStrategy::no_shard),
      frees_after_forward_(is_sharded_ && plan.strategy != ShardingStrategy::shard_grad_op),
      keeps_views_after_forward_(is_sharded_ && !frees_after_forward_),
      offload_params_(offload_params) {
  std::vector<Tensor> managed = managed_params(unit, flattened);
  const DType own = managed.front().dtype();
  compute_dtype_ = plan.param_dtype.value_or(own);
  reduce_dtype_ = plan.reduce_dtype.value_or(compute_dtype_);
  is_mixed_ = compute_dtype_ != own;
  std::vector<std::int64_t> lengths;
  Storages storages;  // of the parameters: without use_orig_params they die with `managed`
  for (const Tensor& parameter : managed) {
    lengths.push_back(parameter.numel());
    storages.push_back(parameter->storage);
    originals_.push_back({.parameter = parameter, .sizes = parameter.sizes()});
  }
  layout_ = lay_out(lengths, use_orig_params_ ? kAlignmentBytes / item_size(compute_dtype_) : 0,
                    group.size());
  shard_ = is_sharded_ ? shard_of(layout_.length, rank, group.size())
                       : FlatShard{.extent = {0, layout_.length}};
  const std::int64_t start = shard_.padded_length() * (is_sharded_ ? rank : 0);
  for (std::size_t i = 0; i < originals_.size(); ++i) {
    originals_[i].in_shard = part_in_shard(layout_.parameters[i], start, shard_.padded_length());
  }
  flatten(managed);
  if (use_orig_params_) {
    storages.clear();
    const TensorList made =
        views_of(flat_param);  // the number of nodes matters; shard() creates parameters again
  } else {
    use_forward_views();
  }
  shard();
  if (offload_params_) {
    flat_param_to_host();
  }
  eager::release_list(storages);
}

// _init_flat_param_and_metadata: padding exists as tensors until the flat parameter is made.
void FlatParamHandle::flatten(const std::vector<Tensor>& parameters) {
  const DType dtype = parameters.front().dtype();
  optim::TensorVector parts;
  std::vector<Tensor> flat;
  Tensor last_padding;
  const bool wants_gradient = std::ranges::any_of(parameters, &Tensor::requires_grad);
  for (std::size_t part = 0, next = 0; part < layout_.parts.size(); ++part) {
    const bool is_parameter = next < layout_.owned.size() && layout_.owned[next] == part;
    if (!is_parameter) {
      last_padding = padding_tensor(runtime_, layout_.parts[part], dtype);
    }
    parts.push_back(is_parameter ? eager::detach(parameters[next]) : last_padding);
    next += is_parameter ? 1 : 0;
  }
  for (const Tensor& part : parts) {
    flat.push_back(eager::view(part, {part.numel()}));
  }
  const NoGrad no_grad(runtime_);
  flat_param = eager::cat(flat, 0);
  flat_param->requires_grad = wants_gradient;
  runtime_.categorize(flat_param, Category::parameter);
  flat.clear();
  parts.clear();
  last_padding.reset();
}

void FlatParamHandle::shard() {
  const NoGrad no_grad(runtime_);
  if (is_sharded_) {
    Tensor own = eager::clone(piece(flat_param, shard_.extent));
    if (shard_.padding > 0) {
      own = eager::constant_pad(own, {0, shard_.padding});
    }
    runtime_.categorize(own, Category::parameter);
    runtime_.free_block(*flat_param->storage);
    set_data(flat_param, own);
    // set_() gives up AccumulateGrad (tools/autograd/gen_variable_type.py, RESET_GRAD_ACCUMULATOR):
    // the next one is made, and runs, where parameters are gathered.
    flat_param->accumulator = nullptr;
  }
  if (use_orig_params_) {
    use_sharded_views();
  }
}

void FlatParamHandle::upcast() {
  if (!flat_param->requires_grad || flat_param.dtype() == DType::fp32) {
    return;
  }
  const NoGrad no_grad(runtime_);
  const Tensor wide = eager::to_dtype(flat_param, DType::fp32);
  runtime_.categorize(wide, Category::parameter);
  set_data(flat_param, wide);
  is_mixed_ = compute_dtype_ != DType::fp32;
}

void FlatParamHandle::flat_param_to_host() {
  const NoGrad no_grad(runtime_);
  const Tensor copy = eager::to_host(flat_param, false);
  runtime_.categorize(copy, Category::parameter);
  set_data(flat_param, copy);
  if (use_orig_params_) {
    use_sharded_views();
  }
}

std::vector<Tensor> FlatParamHandle::visible_parameters() const {
  if (!use_orig_params_) {
    return {flat_param};
  }
  std::vector<Tensor> visible;
  for (const Original& original : originals_) {
    visible.push_back(original.parameter);
  }
  return visible;
}

void FlatParamHandle::init_attributes() {
  const NoGrad no_grad(runtime_);
  const auto make_empty = [this](std::int64_t length, DType dtype) {
    Tensor made = eager::empty(runtime_, {length}, dtype);
    runtime_.categorize(made, Category::weight_copy);
    runtime_.free_block(*made->storage);
    return made;
  };
  local_shard_ = eager::detach(flat_param);
  if (offload_params_) {
    local_shard_ = eager::pin_memory(flat_param);
    runtime_.categorize(local_shard_, Category::parameter);
    cpu_grad_ = eager::pin_memory(optim::make_like("zeros_like", local_shard_));
    runtime_.categorize(cpu_grad_, Category::gradient);
  }
  if (is_mixed_) {
    mp_shard_ = make_empty(flat_param.numel(), compute_dtype_);
  }
  if (is_sharded_) {
    const std::int64_t whole = flat_param.numel() * group_.size();
    full_param_padded_ = make_empty(whole, compute_dtype_);
    if (is_mixed_) {
      make_empty(whole, flat_param.dtype());  // _full_prec_full_param_padded, never used here
    }
  }
}

bool FlatParamHandle::needs_unshard() const {
  return is_sharded_ && !full_param_padded_->storage->has_block;
}

bool FlatParamHandle::is_resharded() const {
  return flat_param->storage == local_shard_->storage && !skipped_sharded_views_;
}

bool FlatParamHandle::pre_unshard() {
  if (use_orig_params_) {
    write_back();
  }
  if (is_sharded_ && !offload_params_ && !needs_unshard()) {
    return false;
  }
  if (is_mixed_) {
    use_low_precision_shard();
    return true;
  }
  if (flat_param.place() == eager::Place::cuda) {
    return false;
  }
  flat_param_to_device();
  return true;
}

void FlatParamHandle::flat_param_to_device() {
  const NoGrad no_grad(runtime_);
  Tensor copy = eager::to_device(flat_param);
  runtime_.launch(1);
  runtime_.categorize(copy, Category::weight_copy);
  set_data(flat_param, copy);
  if (!use_orig_params_) {
    return;
  }
  use_sharded_views();
  const auto is_here = [](const Original& original) { return original.in_shard.length > 0; };
  if (std::ranges::any_of(originals_, is_here)) {
    shard_on_device_ = std::move(copy);
  }
}

// _writeback_orig_params: a gradient that was removed counts as zero.
void FlatParamHandle::write_back() {
  const bool is_sharded_now = is_sharded_ && flat_param.numel() == shard_.padded_length();
  if ((is_sharded_ && !is_sharded_now) || skipped_sharded_views_ || !flat_param->grad.defined()) {
    return;
  }
  for (Original& original : originals_) {
    if (original.in_shard.length > 0 && !original.parameter->grad.defined()) {
      runtime_.launch(1);
      original.is_grad_none = true;
    }
  }
}

void FlatParamHandle::use_low_precision_shard() {
  runtime_.allocate_block(*mp_shard_->storage, mp_shard_.numel() * item_size(mp_shard_.dtype()));
  runtime_.categorize(mp_shard_, Category::weight_copy);
  if (offload_params_) {
    eager::to_device(local_shard_);  // copy_() reads it and casts
  }
  runtime_.launch(1);
  set_data(flat_param, mp_shard_);
}

void FlatParamHandle::unshard() {
  if (!needs_unshard()) {
    use_unsharded_flat_param(is_sharded_ ? full_param_padded_ : eager::detach(flat_param));
    return;
  }
  runtime_.allocate_block(*full_param_padded_->storage,
                          full_param_padded_.numel() * item_size(full_param_padded_.dtype()));
  runtime_.categorize(full_param_padded_, Category::weight_copy);
  group_.all_gather_into_tensor(full_param_padded_, flat_param);
  if (offload_params_) {  // it came on the pre-unshard stream
    runtime_.record_stream(flat_param, runtime_.stream);
  }
  use_unsharded_flat_param(full_param_padded_);
}

void FlatParamHandle::use_unsharded_flat_param(const Tensor& padded) {
  const NoGrad no_grad(runtime_);
  set_data(flat_param, piece(padded, {0, layout_.length}));
  if (state == HandleState::forward) {
    use_forward_views();
  } else if (use_orig_params_ && !skipped_sharded_views_) {
    use_recorded_views();
  }
}

void FlatParamHandle::post_unshard() {
  if (is_mixed_ && is_sharded_) {
    free_low_precision_shard();
  }
}

void FlatParamHandle::free_low_precision_shard() {
  if (mp_shard_->storage->has_block) {
    runtime_.record_stream(mp_shard_, runtime_.stream);
    runtime_.free_block(*mp_shard_->storage);
  }
}

void FlatParamHandle::reshard(Unsharded unsharded) {
  use_sharded_flat_param();
  if (unsharded == Unsharded::freed && full_param_padded_->storage->has_block) {
    runtime_.record_stream(full_param_padded_, runtime_.stream);
    runtime_.free_block(*full_param_padded_->storage);
  }
}

// Without sharding the cast parameters are freed after use instead.
void FlatParamHandle::post_reshard() {
  if (is_mixed_ && !is_sharded_) {
    free_low_precision_shard();
  }
}

bool FlatParamHandle::holds_unsharded_grad() const {
  return is_sharded_ && flat_param->grad.defined() && flat_param->grad.numel() == layout_.length;
}

void FlatParamHandle::use_sharded_flat_param() {
  const bool in_forward = state == HandleState::forward;
  set_data(flat_param, local_shard_);
  if (!use_orig_params_) {
    return;
  }
  if (runtime_.grad_enabled && in_forward && keeps_views_after_forward_) {
    skipped_sharded_views_ = true;
    return;
  }
  use_sharded_views();
  if (in_forward && holds_unsharded_grad()) {
    use_unsharded_grad_views();
  } else if (in_forward) {
    use_sharded_grad_views();
  }
}

void FlatParamHandle::prepare_gradient_for_backward() {
  Tensor& grad = flat_param->grad;
  if (grad.defined() && grad.numel() != layout_.length) {
    if (!offload_params_) {
      saved_grad_shard = eager::detach(grad);
    }
    grad.reset();
  }
}

void FlatParamHandle::offload_grad(const Tensor& grad) {
  runtime_.launch(1);  // _cpu_grad.copy_(), which the host does not wait for
  runtime_.record_stream(grad, runtime_.stream);
}

void FlatParamHandle::prepare_gradient_for_optim() {
  if (offload_params_) {
    flat_param->grad = cpu_grad_;
    saved_grad_shard.reset();
    return;
  }
  if (saved_grad_shard.defined()) {
    if (post_backward_called) {
      flat_param->grad = saved_grad_shard;
    }
    saved_grad_shard.reset();
  }
}

// If zero_grad() removed the parameters' gradients, the flat one is removed as well.
void FlatParamHandle::reset_flat_param_grad_if_needed() {
  if (!use_orig_params_) {
    return;
  }
  const auto has_gradient = [](const Original& original) {
    return original.parameter->grad.defined();
  };
  if (std::ranges::none_of(originals_, has_gradient)) {
    flat_param->grad.reset();
  }
}

}  // namespace highwater::dist
