// The parameters of a flat parameter's unit as views into it, and their gradients as views into its
// gradient (_use_unsharded_views, _use_sharded_views, _use_unsharded_grad_views and
// _use_sharded_grad_views of _flat_param.py).
#include "workloads/distributed/fsdp1/flat_param_handle.hpp"

namespace highwater::dist {

using eager::NoGrad;
using eager::Scoped;
using eager::Tensor;
using eager::TensorList;

namespace {

// The tensor becomes `view` itself, with its place in the autograd graph.
void become_view(const Tensor& tensor, const Tensor& view) {
  tensor->storage = view->storage;
  tensor->sizes = view.sizes();
  tensor->strides = view.strides();
  tensor->offset = view->offset;
  tensor->dtype = view.dtype();
  tensor->grad_fn = view->grad_fn;
  tensor->output_nr = view->output_nr;
  tensor->base = view->base;
}

// The module's attribute is its nn.Parameter again, whose .data is `data`.
void become_parameter(const Tensor& tensor, const Tensor& data) {
  set_data(tensor, data);
  tensor->grad_fn.reset();
  tensor->output_nr = 0;
  tensor->base.reset();
}

// A gradient whose shape or type differs from its parameter's can be set only as .data.
void put_gradient(const Tensor& parameter, const Tensor& view, bool fits) {
  if (fits) {
    parameter->grad = view;
    return;
  }
  if (!parameter->grad.defined()) {
    parameter->grad = eager::empty_like(parameter);
  }
  set_data(parameter->grad, view);
}

}  // namespace

TensorList FlatParamHandle::views_of(const Tensor& flat) const {
  TensorList views;
  const TensorList pieces = eager::split_rows(flat, layout_.parts);
  for (std::size_t i = 0; i < originals_.size(); ++i) {
    views.push_back(eager::view(pieces[layout_.owned[i]], originals_[i].sizes));
  }
  return views;
}

// _use_unsharded_views(as_params=False) in forward, also without gradients.
void FlatParamHandle::use_forward_views() {
  const Scoped<bool> grad(runtime_.grad_enabled, true);
  const TensorList views = views_of(flat_param);
  for (std::size_t i = 0; i < views.size(); ++i) {
    become_view(originals_[i].parameter, views[i]);
    if (use_orig_params_) {
      originals_[i].view = views[i];
    }
  }
}

// The same before backward: the views that forward's graph knows get their data back. The new ones
// matter only as nodes of the autograd thread, whose numbers determine the order in a nested
// backward.
void FlatParamHandle::use_recorded_views() {
  const Scoped<bool> grad(runtime_.grad_enabled, true);
  const TensorList made = views_of(flat_param);
  for (const Original& original : originals_) {
    if (original.view.defined()) {
      become_view(original.parameter, original.view);
    }
  }
}

void FlatParamHandle::use_sharded_views() {
  const NoGrad no_grad(runtime_);
  skipped_sharded_views_ = false;
  if (!is_sharded_) {
    use_whole_params();
    return;
  }
  const Tensor nothing = eager::empty_on(runtime_, flat_param.place(), {0}, flat_param.dtype());
  for (const Original& original : originals_) {
    const bool is_here = original.in_shard.length > 0;
    become_parameter(original.parameter, is_here ? piece(flat_param, original.in_shard) : nothing);
  }
  if (shard_on_device_.defined() && flat_param->storage != shard_on_device_->storage) {
    shard_on_device_.reset();
  }
  if (state == HandleState::backward_post) {
    for (Original& original : originals_) {
      original.view.reset();
    }
  }
}

// _use_unsharded_views(as_params=True), which is NO_SHARD's.
void FlatParamHandle::use_whole_params() {
  const Scoped<bool> grad(runtime_.grad_enabled, true);
  const TensorList views = views_of(flat_param);
  for (std::size_t i = 0; i < views.size(); ++i) {
    become_parameter(originals_[i].parameter, views[i]);
  }
}

void FlatParamHandle::use_sharded_grad_views() {
  const NoGrad no_grad(runtime_);
  const Tensor grad = offload_params_              ? cpu_grad_
                      : saved_grad_shard.defined() ? saved_grad_shard
                                                   : flat_param->grad;
  for (Original& original : originals_) {
    const Tensor& parameter = original.parameter;
    if (state == HandleState::backward_post && parameter->requires_grad) {
      original.is_grad_none = false;  // _reset_is_grad_none
    }
    if (!grad.defined() || original.in_shard.length == 0 || !parameter->requires_grad ||
        original.is_grad_none) {
      parameter->grad.reset();
      continue;
    }
    const Tensor view = eager::view(piece(grad, original.in_shard), parameter.sizes());
    put_gradient(parameter, view, parameter.dtype() == grad.dtype());
  }
}

void FlatParamHandle::use_unsharded_grad_views() {
  const NoGrad no_grad(runtime_);
  const Tensor grad = flat_param->grad;
  const TensorList views = grad.defined() ? views_of(grad) : TensorList{};
  for (std::size_t i = 0; i < originals_.size(); ++i) {
    const Tensor& parameter = originals_[i].parameter;
    if (views.empty()) {
      parameter->grad.reset();
    } else {
      put_gradient(parameter, views[i],
                   parameter.sizes() == views[i].sizes() && parameter.dtype() == grad.dtype());
    }
  }
}

}  // namespace highwater::dist
