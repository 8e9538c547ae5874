#include "workloads/optim/clip_grad.hpp"

#include <algorithm>
#include <vector>

#include "workloads/eager/dtensor_spec.hpp"
#include "workloads/eager/ops.hpp"
#include "workloads/optim/algorithms.hpp"

namespace highwater {

namespace {

using eager::Runtime;
using eager::Tensor;
using optim::TensorVector;

using Groups = std::vector<std::vector<Tensor>>;

// _group_tensors_by_device_and_dtype: the group that was found last comes first.
Groups groups_of(const std::vector<Tensor>& tensors) {
  Groups groups;
  for (const Tensor& tensor : tensors) {
    const auto found = std::ranges::find_if(groups, [&tensor](const auto& group) {
      const Tensor& first = group.front();
      return first->storage->device == tensor->storage->device && first.dtype() == tensor.dtype();
    });
    if (found == groups.end()) {
      groups.push_back({tensor});
    } else {
      found->push_back(tensor);
    }
  }
  std::ranges::reverse(groups);
  return groups;
}

/// A norm of DTensors' partial sums is taken of the whole sums since 2.10, not of the parts
/// (common_reduction_strategy in distributed/tensor/_ops/_math_ops.py).
constexpr Release kSumsBeforeNorm{2, 10};

// Norms of DTensors are parts of a sum over the ranks, but those of whole gradients are not; these
// are divided so that they can be stacked with the others (_NormPartial in distributed/tensor/_ops/
// _math_ops.py).
TensorVector as_parts(const TensorVector& norms, std::span<const Tensor> parameters) {
  TensorVector parts;
  for (std::size_t i = 0; i < norms.size(); ++i) {
    const auto* spec = parameters[i]->spec;
    if (spec != nullptr && spec->grad_placement == eager::Placement::replicate) {
      parts.push_back(optim::make_like("div", norms[i]));
    }
  }
  return parts;
}

// The sum over the ranks of squares, for an operator that needs it whole.
Tensor whole_norm(const Tensor& norm, const eager::DTensorSpec* spec) {
  if (spec == nullptr) {
    return norm;
  }
  Tensor square = optim::make_like("pow", norm);
  const Tensor sum = spec->all_reduce(square);
  Tensor root = optim::make_like("pow", sum);
  square.reset();
  return root;
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

TensorVector norms_of(Runtime& runtime, const Groups& groups) {
  TensorVector norms;
  for (const auto& group : groups) {
    const eager::OnDevice place(runtime, group.front());
    for (const auto& norm : optim::foreach_norm(runtime, group)) {
      norms.push_back(norm);
    }
  }
  return norms;
}

// [norm.to(first_device) for norm in norms]
TensorVector on_current_device(const Runtime& runtime, const TensorVector& norms) {
  TensorVector copies;
  for (const Tensor& norm : norms) {
    copies.push_back(eager::to_device(norm, runtime.device));
  }
  return copies;
}

// Each group multiplies by a copy on its GPU.
void scale(const Groups& groups, const optim::Slots& slots, const Tensor& factor) {
  for (const auto& group : groups) {
    static_cast<void>(eager::to_device(factor, group.front()->storage->device));
  }
  optim::summed_grads(slots);  // _foreach_mul_
}

// max_norm / (total_norm + 1e-6), which is reciprocal() * max_norm, then clamp. The gradients are
// scaled in place. Before 2.6 all this is one function, whose list of norms lives until its end.
void clip(Runtime& runtime, const optim::Slots& slots, const FullValue& full_value) {
  std::vector<Tensor> parameters;
  std::vector<Tensor> grads;
  for (const optim::Slot* slot : slots) {
    parameters.push_back(slot->param);
    grads.push_back(slot->param->grad);
  }
  const Groups groups = groups_of(grads);
  const eager::OnDevice place(runtime, grads.front());
  TensorVector norms = norms_of(runtime, groups);
  const auto stacked = [&] {
    const TensorVector here = on_current_device(runtime, norms);
    const TensorVector parts = as_parts(norms, parameters);
    return stack(runtime, here);
  };
  const auto whole = [&](const Tensor& partial) {
    return full_value ? full_value(partial) : whole_norm(partial, parameters.front()->spec);
  };
  const bool sums_first = runtime.torch >= kSumsBeforeNorm;
  Tensor total_norm;
  {
    const Tensor parts = stacked();
    total_norm = optim::vector_norm(sums_first ? whole(parts) : parts, {}, eager::KeepDim::no);
  }
  if (runtime.torch >= Release{2, 6}) {
    norms.clear();
  }
  Tensor sum = optim::make_like("add", total_norm);
  Tensor reciprocal;
  {
    const Tensor whole_sum = sums_first ? sum : whole(sum);
    reciprocal = optim::make_like("reciprocal", whole_sum);
  }
  Tensor clip_coef = optim::make_like("mul", reciprocal);
  eager::end_of_frame(reciprocal, sum);
  Tensor clip_coef_clamped = optim::make_like("clamp", clip_coef);
  scale(groups, slots, clip_coef_clamped);
  norms.clear();
  eager::end_of_frame(clip_coef, clip_coef_clamped);
}

}  // namespace

void clip_grad_norm(Runtime& runtime, std::span<const Tensor> parameters,
                    const FullValue& full_value) {
  std::vector<optim::Slot> owned;
  for (const auto& parameter : parameters) {
    if (parameter->grad.defined()) {
      owned.push_back({.param = parameter, .model = {}, .state = {}});
    }
  }
  optim::Slots slots;
  for (optim::Slot& slot : owned) {
    slots.push_back(&slot);
  }
  if (!slots.empty()) {
    clip(runtime, slots, full_value);
  }
}

}  // namespace highwater
