#include "workloads/optim/grad_scaler.hpp"

#include "workloads/eager/ops.hpp"
#include "workloads/eager/runtime.hpp"
#include "workloads/optim/optimizer.hpp"

namespace highwater {

using eager::Tensor;

namespace {

// torch.float64 is not among the types of models; only its size matters here.
constexpr DType kDouble = DType::int64;

}  // namespace

Tensor GradScaler::scalar(const char* op, DType dtype) {
  eager::OpScope scope(runtime_, op);
  return eager::empty(runtime_, {}, dtype);
}

Tensor GradScaler::scale(const Tensor& loss) {
  if (!scale_.defined()) {
    scale_ = scalar("full", DType::fp32);
    growth_tracker_ = scalar("full", DType::int32);
    runtime_.categorize(scale_, Category::optimizer_state);
    runtime_.categorize(growth_tracker_, Category::optimizer_state);
  }
  return eager::mul(loss, scale_);
}

// _unscale_grads_: copies for the device, the one of inv_scale only until it returns.
void GradScaler::find_inf(const Tensor& inv_scale, const Tensor& found_inf) {
  found_inf_ = optim::make_like("to", found_inf);
  const Tensor inv_scale_copy = optim::make_like("to", inv_scale);
  if (share_found_inf_) {
    share_found_inf_(found_inf_);
  }
}

// inv_scale = scale.double().reciprocal().float()
void GradScaler::unscale() {
  Tensor wide = scalar("to", kDouble);
  Tensor reciprocal = scalar("reciprocal", kDouble);
  wide.reset();
  Tensor inv_scale = scalar("to", DType::fp32);
  reciprocal.reset();
  Tensor found_inf = scalar("full", DType::fp32);
  find_inf(inv_scale, found_inf);
  eager::end_of_frame(inv_scale, found_inf);
  stage_ = Stage::unscaled;
}

// _check_inf_per_device: the gradients stay scaled, the kernel of the optimizer unscales them.
void GradScaler::check_inf() {
  Tensor dummy_inv_scale = scalar("full", DType::fp32);
  Tensor found_inf = scalar("full", DType::fp32);
  find_inf(dummy_inv_scale, found_inf);
  eager::end_of_frame(dummy_inv_scale, found_inf);
}

void GradScaler::step(OptimizerRun& optimizer) {
  if (optimizer.unscales_in_kernel()) {
    step_in_kernel(optimizer);
  } else {
    step_unscaled(optimizer);
  }
}

void GradScaler::step_unscaled(OptimizerRun& optimizer) {
  if (stage_ == Stage::ready) {
    unscale();
  }
  runtime_.synchronize();  // found_inf.item() decides whether to step
  optimizer.step();
}

// found_inf = sum([found_inf]), which adds it to 0; grad_scale only if the gradients have not been
// unscaled before.
void GradScaler::step_in_kernel(OptimizerRun& optimizer) {
  Tensor grad_scale;
  const bool is_scaled = stage_ == Stage::ready;
  if (is_scaled) {
    check_inf();
  }
  Tensor found_inf = optim::make_like("add", found_inf_);
  if (is_scaled) {
    grad_scale = optim::make_like("mul", scale_);
  }
  optimizer.step();
  eager::end_of_frame(grad_scale, found_inf);
}

void GradScaler::update() {
  found_inf_.reset();
  stage_ = Stage::ready;
}

}  // namespace highwater
