#include "workloads/deepspeed/common/gradient_scale.hpp"

#include "workloads/eager/ops.hpp"

namespace highwater::deepspeed {

using eager::Tensor;
using optim::make_like;
using optim::TensorVector;

namespace {

Tensor scalar(eager::Runtime& runtime, const char* op, DType dtype) {
  const eager::OpScope scope(runtime, op);
  return eager::empty(runtime, {}, dtype);
}

// isfinite(): (self == self) * (self.abs() != infinity), the right operand first.
Tensor is_finite(const Tensor& x) {
  Tensor absolute = make_like("abs", x);
  Tensor is_bounded = make_like("ne", x, DType::boolean);
  Tensor is_number = make_like("eq", x, DType::boolean);
  Tensor both = make_like("mul", x, DType::boolean);
  eager::end_of_frame(is_number, is_bounded, absolute);
  return both;
}

// (~torch.isfinite(norm) | (norm < 0)).any()
Tensor any_invalid(const Tensor& norm) {
  Tensor finite = is_finite(norm);
  Tensor infinite = make_like("bitwise_not", finite);
  finite.reset();
  Tensor negative = make_like("lt", norm, DType::boolean);
  Tensor invalid = make_like("bitwise_or", infinite);
  eager::end_of_frame(infinite, negative);
  return eager::reduce_plain("any", invalid, {}, eager::KeepDim::no, DType::boolean);
}

Tensor largest_is_finite(const char* op, const Tensor& x) {
  return is_finite(eager::reduce_plain(op, x, {}, eager::KeepDim::no, x.dtype()));
}

Tensor has_extreme(const Tensor& x) {
  Tensor largest = largest_is_finite("amax", x);
  Tensor smallest = largest_is_finite("amin", x);
  Tensor both = make_like("logical_and", largest);
  eager::end_of_frame(largest, smallest);
  return make_like("logical_not", both);
}

// inf_or_nan * err + inf_or_nan.logical_not() * total_norm
Tensor sum_of_products(const Tensor& total_norm, const Tensor& inf_or_nan) {
  Tensor flagged = scalar(total_norm.runtime(), "mul", DType::fp32);
  Tensor is_finite = make_like("logical_not", inf_or_nan);
  Tensor kept = make_like("mul", total_norm);
  is_finite.reset();
  Tensor sum = make_like("add", total_norm);
  eager::end_of_frame(flagged, kept);
  return sum;
}

// torch.where(inf_or_nan, err, total_norm), which converts err to the type of the norm
Tensor where_finite(const Tensor& total_norm, const Tensor& err) {
  const Tensor converted = total_norm.dtype() == err.dtype() ? err : make_like("to", total_norm);
  return make_like("where", total_norm);
}

}  // namespace

Tensor isinf(const Tensor& x) {
  const Tensor absolute = make_like("abs", x);
  return make_like("isinf", x, DType::boolean);
}

void mask_in_place(const Tensor& total_norm) {
  Tensor is_inf = isinf(total_norm);
  Tensor is_nan = make_like("isnan", total_norm, DType::boolean);
  Tensor inf_or_nan = make_like("logical_or", is_nan);
  Tensor err = scalar(total_norm.runtime(), "tensor", DType::fp32);
  eager::end_of_frame(is_inf, is_nan, inf_or_nan, err);
}

namespace {

// torch.stack(all_norms).square().sum().float(); torch.tensor(0.0) of a rank that has nothing but
// the padding behind the last parameter.
Tensor sum_of_squares(eager::Runtime& runtime, const TensorVector& all_norms) {
  if (all_norms.size() == 0) {
    return scalar(runtime, "tensor", DType::fp32);
  }
  Tensor total_norm = eager::stack({all_norms.begin(), all_norms.end()}, 0);
  total_norm = make_like("square", total_norm);
  total_norm = eager::sum(total_norm, {}, eager::KeepDim::no, kDouble);
  return make_like("to", total_norm, DType::fp32);
}

}  // namespace

// Reduced over the ranks, to the power of 1/2.
Tensor flat_gradient_norm(dist::ProcessGroup& group, std::span<const Tensor> gradients,
                          DeepspeedRelease release) {
  TensorVector all_norms;
  for (const Tensor& gradient : gradients) {
    const Tensor wide = make_like("to", gradient, kDouble);
    all_norms.push_back(optim::vector_norm(wide, {}, eager::KeepDim::no));
  }
  Tensor total_norm = sum_of_squares(group.runtime(), all_norms);
  group.all_reduce(total_norm).wait();
  total_norm = make_like("pow", total_norm);
  if (release == DeepspeedRelease::v0_19) {
    mask_in_place(total_norm);
    return total_norm;
  }
  FiniteNorm locals(total_norm, release);
  all_norms.clear();
  eager::end_of_frame(locals.is_inf, locals.is_nan, locals.inf_or_nan, locals.err);
  return total_norm;
}

FiniteNorm::FiniteNorm(Tensor& total_norm, DeepspeedRelease release)
    : is_inf(isinf(total_norm)), is_nan(make_like("isnan", total_norm, DType::boolean)) {
  inf_or_nan = make_like("logical_or", is_nan);
  err = scalar(total_norm.runtime(), "tensor", DType::fp32);
  total_norm = release == DeepspeedRelease::v0_19 ? where_finite(total_norm, err)
                                                  : sum_of_products(total_norm, inf_or_nan);
}

Tensor norm_of_groups(const TensorVector& norm_groups) {
  const Tensor stacked = eager::stack({norm_groups.begin(), norm_groups.end()}, 0);
  return optim::vector_norm(stacked, {}, eager::KeepDim::no);
}

Tensor combined_norm(const TensorVector& norm_groups) {
  Tensor stacked = eager::stack({norm_groups.begin(), norm_groups.end()}, 0);
  Tensor invalid = any_invalid(stacked);
  Tensor combined = optim::vector_norm(stacked, {}, eager::KeepDim::no);
  Tensor infinity = make_like("full_like", combined);
  Tensor result = make_like("where", combined);
  infinity.reset();
  eager::end_of_frame(stacked, invalid, combined);
  return result;
}

void ask_whether_invalid(const Tensor& norm) {
  const Tensor answer = any_invalid(norm);
  norm.runtime().synchronize();
}

Tensor has_inf_or_nan(const Tensor& x, DeepspeedRelease release) {
  if (release == DeepspeedRelease::v0_19) {
    return has_extreme(x);
  }
  Tensor wide = eager::to_dtype(x, DType::fp32);
  Tensor nan = make_like("isnan", wide, DType::boolean);
  Tensor inf = isinf(wide);
  Tensor either = make_like("logical_or", nan);
  Tensor number = make_like("to", either, DType::fp32);
  Tensor most = eager::reduce_plain("max", number, {}, eager::KeepDim::no, DType::fp32);
  number.reset();
  eager::end_of_frame(wide, nan, inf, either);
  return most;
}

// clip = clamp((total_norm / loss_scale + 1e-6) / clip_grad, min=1); 1. / (clip * loss_scale)
void unscale_and_clip(const Tensor& total_norm) {
  Tensor clip = make_like("div", total_norm);
  clip = make_like("add", clip);
  clip = make_like("div", clip);
  clip = make_like("clamp", clip);
  Tensor combined_scale = make_like("mul", clip);
  {
    Tensor reciprocal = make_like("reciprocal", combined_scale);
    const Tensor factor = make_like("mul", reciprocal);
    reciprocal.reset();
  }
  eager::end_of_frame(combined_scale, clip);
}

}  // namespace highwater::deepspeed
