#include "workloads/optim/clip_grad.hpp"

#include <algorithm>
#include <vector>

#include "workloads/eager/ops.hpp"
#include "workloads/optim/tensor_vector.hpp"

namespace highwater {

namespace {

using eager::Runtime;
using eager::Tensor;
using optim::TensorVector;

std::vector<Tensor> of_dtype(const std::vector<Tensor>& tensors, DType dtype) {
  std::vector<Tensor> found;
  std::ranges::copy_if(tensors, std::back_inserter(found),
                       [dtype](const Tensor& tensor) { return tensor.dtype() == dtype; });
  return found;
}

// torch.stack of scalars.
Tensor stack(Runtime& runtime, const TensorVector& scalars) {
  eager::OpScope scope(runtime, "stack");
  DType dtype = scalars[0].dtype();
  for (const auto& scalar : scalars) {
    dtype = scalar.dtype() == dtype ? dtype : eager::promote(scalar, scalars[0]);
  }
  return eager::empty(runtime, {static_cast<std::int64_t>(scalars.size())}, dtype);
}

TensorVector norms_of(Runtime& runtime, const std::vector<Tensor>& grads) {
  TensorVector norms;
  for (const DType dtype : optim::dtype_groups(grads)) {
    const auto group = of_dtype(grads, dtype);
    for (const auto& norm : optim::foreach_norm(runtime, group)) {
      norms.push_back(norm);
    }
  }
  return norms;
}

// max_norm / (total_norm + 1e-6), which is reciprocal() * max_norm, then clamp. The gradients are
// scaled in place. Before 2.6 all this is one function, whose list of norms lives to its end.
void clip(Runtime& runtime, const std::vector<Tensor>& grads, const FullValue& full_value) {
  TensorVector norms = norms_of(runtime, grads);
  const Tensor total_norm = optim::vector_norm(stack(runtime, norms), {}, false);
  if (runtime.torch >= eager::Release{2, 6}) {
    norms.clear();
  }
  Tensor sum = optim::make_like("add", total_norm);
  Tensor full = full_value ? full_value(sum) : sum;
  Tensor reciprocal = optim::make_like("reciprocal", full);
  full.reset();
  Tensor clip_coef = optim::make_like("mul", reciprocal);
  eager::end_of_frame(reciprocal, sum);
  Tensor clip_coef_clamped = optim::make_like("clamp", clip_coef);
  norms.clear();
  eager::end_of_frame(clip_coef, clip_coef_clamped);
}

}  // namespace

void clip_grad_norm(Runtime& runtime, std::span<const Tensor> parameters,
                    const FullValue& full_value) {
  std::vector<Tensor> grads;
  for (const auto& parameter : parameters) {
    if (parameter->grad.defined()) {
      grads.push_back(parameter->grad);
    }
  }
  if (!grads.empty()) {
    clip(runtime, grads, full_value);
  }
}

}  // namespace highwater
