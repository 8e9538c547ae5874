// What FSDP1 does with gradients: reduction over the ranks and clipping (_runtime_utils.py:
// _reduce_grad, _reduce_grad_no_shard; fully_sharded_data_parallel.py: clip_grad_norm_ of
// PyTorch 2.6).
#include <algorithm>
#include <utility>

#include "workloads/distributed/fsdp1/fully_sharded_data_parallel.hpp"
#include "workloads/optim/tensor_vector.hpp"

namespace highwater::dist {

using eager::OnStream;
using eager::Tensor;

namespace {

// _get_gradient_predivide_factor: gradients are divided in two steps of similar size.
int predivide_factor(int ranks) {
  int factor = 1;
  while (ranks % factor == 0 && ranks > factor * factor) {
    factor *= 2;
  }
  return factor;
}

// _div_if_needed.
void divide(const Tensor& tensor, bool is_needed) {
  if (is_needed) {
    tensor.runtime().launch(1);
  }
}

}  // namespace

// The second half of _post_backward_hook.
void FullyShardedDataParallel::reduce_gradient(Unit& unit) {
  FlatParamHandle& handle = *unit.handle;
  Tensor& grad = handle.flat_param->grad;
  const Tensor computed = eager::detach(grad);
  if (grad.dtype() != handle.reduce_dtype()) {
    set_data(grad, eager::to_dtype(grad, handle.reduce_dtype()));
  }
  if (handle.is_sharded_strategy()) {
    reduce_sharded(unit);
  } else {
    reduce_replicated(unit);
  }
  runtime_.record_stream(computed, runtime_.stream);
}

// _reduce_grad.
void FullyShardedDataParallel::reduce_sharded(Unit& unit) {
  FlatParamHandle& handle = *unit.handle;
  const int ranks = shards_.size() * (replicas_ ? replicas_->size() : 1);
  const int before = predivide_factor(ranks);
  Tensor whole = eager::detach(handle.flat_param->grad);
  handle.flat_param->grad.reset();
  const std::int64_t missing = handle.padded_length() * shards_.size() - whole.numel();
  Tensor padded = missing > 0 ? eager::constant_pad(whole, {0, missing}) : whole;
  Tensor own = eager::empty(runtime_, {handle.padded_length()}, whole.dtype());
  divide(padded, before > 1);
  shards_.reduce_scatter_tensor(own, padded);
  if (replicas_) {
    runtime_.wait_stream(streams_->all_reduce, streams_->post_backward);
    const OnStream stream(runtime_, streams_->all_reduce);
    runtime_.record_stream(own, runtime_.stream);
    replicas_->all_reduce(own).wait();
    divide(own, ranks > before);
    accumulate_sharded(handle, own);
  } else {
    divide(own, ranks > before);
    accumulate_sharded(handle, own);
  }
  eager::end_of_frame(whole, padded, own);
}

// _accumulate_sharded_grad, _post_backward_use_sharded_grad_views.
void FullyShardedDataParallel::accumulate_sharded(FlatParamHandle& handle, const Tensor& own) {
  if (own.dtype() != handle.flat_param.dtype()) {
    const Tensor low_precision = eager::detach(own);
    set_data(own, eager::to_dtype(own, handle.flat_param.dtype()));
    runtime_.record_stream(low_precision, runtime_.stream);
  }
  runtime_.categorize(own, Category::gradient);
  if (handle.saved_grad_shard.defined()) {
    runtime_.launch(1);  // +=
  } else {
    handle.saved_grad_shard = own;
  }
  if (handle.offloads()) {
    handle.offload_grad(own);
  }
  if (plan_.use_orig_params) {
    handle.use_sharded_grad_views();
  }
}

// _reduce_grad_no_shard: in place.
void FullyShardedDataParallel::reduce_replicated(Unit& unit) {
  FlatParamHandle& handle = *unit.handle;
  Tensor& grad = handle.flat_param->grad;
  const int before = predivide_factor(shards_.size());
  divide(grad, before > 1);
  shards_.all_reduce(grad).wait();
  divide(grad, shards_.size() > before);
  if (grad.dtype() != handle.flat_param.dtype()) {
    const Tensor low_precision = eager::detach(grad);
    set_data(grad, eager::to_dtype(grad, handle.flat_param.dtype()));
    runtime_.record_stream(low_precision, runtime_.stream);
  }
  runtime_.categorize(grad, Category::gradient);
  if (plan_.use_orig_params) {
    handle.use_sharded_grad_views();
  }
}

// _get_grad_norm.
Tensor FullyShardedDataParallel::gradient_norm(const std::vector<Tensor>& grads) {
  if (grads.empty()) {
    return zero_scalar_;
  }
  optim::TensorVector norms;
  for (const Tensor& grad : grads) {
    norms.push_back(optim::vector_norm(grad, {}, eager::KeepDim::no));
  }
  Tensor stacked;
  {
    const eager::OpScope op(runtime_, "stack");
    stacked = eager::empty(runtime_, {static_cast<std::int64_t>(norms.size())}, DType::fp32);
  }
  norms.clear();
  return optim::vector_norm(stacked, {}, eager::KeepDim::no);
}

void FullyShardedDataParallel::clip_gradients() {
  lazy_init();
  if (!zero_scalar_.defined()) {
    zero_scalar_ = eager::empty(runtime_, {}, DType::fp32);
    runtime_.synchronize();  // copied from the host
  }
  if (!units_.front()->handle->is_sharded_strategy()) {
    Wrapper::clip_gradients();
    return;
  }
  std::vector<Tensor> grads;
  for (const auto& unit : units_) {
    for (const Tensor& parameter : unit->handle->visible_parameters()) {
      if (parameter->grad.defined()) {
        grads.push_back(parameter->grad);
      }
    }
  }
  const eager::NoGrad no_grad(runtime_);
  scale_gradients(grads);
}

// For gradients on the host, only the sum over the ranks is computed on the GPU.
void FullyShardedDataParallel::reduce_norm_of_host() {
  Tensor local_norm;
  {
    const eager::OpScope op(runtime_, "_to_copy");
    local_norm = eager::empty(runtime_, {}, DType::fp32);
  }
  Tensor total_norm = optim::make_like("pow", local_norm);
  shards_.all_reduce(total_norm).wait();
  total_norm = optim::make_like("pow", total_norm);
  runtime_.synchronize();  // .cpu()
  eager::end_of_frame(total_norm, local_norm);
}

void FullyShardedDataParallel::scale_gradients(const std::vector<Tensor>& grads) {
  if (offload_params_) {
    reduce_norm_of_host();
    return;
  }
  Tensor local_norm = gradient_norm(grads);
  Tensor total_norm = optim::make_like("pow", local_norm);
  shards_.all_reduce(total_norm).wait();
  total_norm = optim::make_like("pow", total_norm);
  Tensor sum = optim::make_like("add", total_norm);
  Tensor reciprocal = optim::make_like("reciprocal", sum);
  Tensor clip_coef = optim::make_like("mul", reciprocal);
  eager::end_of_frame(reciprocal, sum);
  Tensor clamped = optim::make_like("clamp", clip_coef);
  for (const Tensor& grad : grads) {
    eager::to_dtype(clamped, grad.dtype());
    runtime_.launch(1);
  }
  eager::end_of_frame(local_norm, clip_coef, clamped, total_norm);
}

}  // namespace highwater::dist
