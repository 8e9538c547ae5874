#include "workloads/deepspeed/gradient_offload.hpp"

#include "workloads/deepspeed/common/gradient_scale.hpp"
#include "workloads/deepspeed/common/tensor_data.hpp"
#include "workloads/nn/backward_pass.hpp"

namespace highwater::deepspeed {

using eager::Tensor;

GradientOffload::GradientOffload(eager::Runtime& runtime, std::int64_t largest_parameter,
                                 DType dtype, DeepspeedRelease release)
    : runtime_(runtime), release_(release) {
  const eager::OpScope op(runtime, "zeros");
  buffer_ = eager::empty(runtime, {largest_parameter}, dtype);
  runtime.categorize(buffer_, Category::communication);
}

void GradientOffload::take(const Tensor& parameter, const PartitionSlice& slice,
                           BackwardPass pass) {
  if (pass != BackwardPass::last) {
    return;
  }
  const Tensor gradient = parameter->grad;
  const Tensor own = narrow_as(gradient, slice.offset, {slice.numel});
  {
    const Tensor wide = optim::make_like("to", own, kDouble);
    norms_.push_back(optim::vector_norm(wide, {}, eager::KeepDim::no));
  }
  has_inf_or_nan(gradient, release_);
  runtime_.synchronize();
  const Tensor src_tensor = eager::to_dtype(own, DType::fp32);
  parameter->grad.reset();
}

Tensor GradientOffload::number_to_reduce(DType dtype) const {
  const eager::OpScope op(runtime_, "to");
  return eager::empty(runtime_, {1}, dtype);
}

void GradientOffload::reset() {
  for (Tensor& norm : norms_) {
    norm.reset();
  }
  norms_.clear();
}

}  // namespace highwater::deepspeed
