// torch/optim/_adafactor.py: matrices (and stacks of them) keep the variances of rows and columns,
// vectors their own. Norms and step counters are read back to the host.
//
// Of DTensors that are sharded along rows the variances of rows and columns are whole on each rank,
// so anything combined with them is made whole first: means, and the gradient itself.
#include "workloads/eager/ops.hpp"
#include "workloads/optim/algorithms.hpp"

namespace highwater::optim {

namespace {

constexpr std::size_t kRowVar = 0;
constexpr std::size_t kColVar = 1;
constexpr std::size_t kVariance = 0;

bool is_factored(const Slot& slot) {
  return slot.param->grad.dim() > 1;
}

std::int64_t whole_rows(const Resharding* resharding, const Slot& slot) {
  return resharding == nullptr
             ? slot.param.size(0)
             : resharding->whole_rows(slot.model.defined() ? slot.model : slot.param);
}

// grad.new_zeros of the whole gradient's shape with dimension `dim` reduced to 1.
Tensor factor(const Tensor& grad, std::int64_t rows, std::int64_t dim) {
  eager::OpScope scope(grad.runtime(), "new_zeros");
  Dims sizes = grad.sizes();
  sizes.front() = rows;
  sizes[eager::wrap(dim, sizes.size())] = 1;
  return eager::empty(grad.runtime(), sizes, grad.dtype());
}

void init_state(const Resharding* resharding, Slot& slot) {
  const Tensor& grad = slot.param->grad;
  if (is_factored(slot)) {
    const std::int64_t rows = whole_rows(resharding, slot);
    add_state(slot, factor(grad, rows, -1));
    add_state(slot, factor(grad, rows, -2));
  } else {
    add_state(slot, make_like("zeros_like", grad));
  }
}

// tensor.norm(2).item()
void read_norm(const Tensor& tensor) {
  vector_norm(tensor, {}, eager::KeepDim::no);
  tensor.runtime().synchronize();
}

// (g * g).mean(dim), as the norm over `dim` squared and divided in place.
Tensor mean_square(const Slot& slot, std::int64_t dim) {
  return vector_norm(slot.param->grad, {dim}, eager::KeepDim::yes);
}

TensorVector mean_squares(const Slots& slots, std::int64_t dim) {
  TensorVector means;
  for (const Slot* slot : slots) {
    means.push_back(mean_square(*slot, dim));
  }
  return means;
}

Tensor outer_product(const Slot& slot) {
  return eager::matmul(slot.state[kRowVar], slot.state[kColVar]);
}

Tensor mean_of_rows(const Slot& slot) {
  return eager::mean(slot.state[kRowVar], -2, eager::KeepDim::yes);
}

// square_(), div_() and, once the name is bound, lerp_() of a column's mean: where its rows are
// sharded it is a partial norm, which each of them makes whole for itself.
void bind_col_mean(const Resharding* resharding, const Slot& slot, Tensor& col_mean) {
  Tensor mean = mean_square(slot, -2);
  const bool is_partial = resharding != nullptr && slot.param.dim() == 2;
  if (is_partial) {
    resharding->full_norm(mean);
    resharding->full_norm(mean);
  }
  col_mean = std::move(mean);
  if (is_partial) {
    resharding->full_norm(col_mean);
  } else if (resharding != nullptr) {
    resharding->gather(col_mean, whole_rows(resharding, slot));
  }
}

// update.mul_(grad), its norm, param.add_(update): the whole update is multiplied by the whole
// gradient; of the result this rank's rows are copied.
void apply_update(const Resharding* resharding, const Slot& slot, const Tensor& update) {
  const bool is_whole = resharding != nullptr && is_factored(slot);
  if (is_whole) {
    resharding->gather(slot.param->grad, whole_rows(resharding, slot));
  }
  read_norm(update);
  if (is_whole) {
    make_like("clone", slot.param->grad);
  }
}

// _single_tensor_adafactor. `update` is the same tensor as `var_estimate`, so the last parameter's
// is released only when `update` is rebound.
void adafactor_one_by_one(const Resharding* resharding, const Slots& slots) {
  Tensor row_mean;
  Tensor col_mean;
  Tensor grad_squared;
  Tensor update;
  for (const Slot* slot : slots) {
    read_norm(slot->param);
    Tensor var_estimate;
    if (is_factored(*slot)) {
      row_mean = mean_square(*slot, -1);
      if (resharding != nullptr) {
        resharding->gather(row_mean, whole_rows(resharding, *slot));
      }
      bind_col_mean(resharding, *slot, col_mean);
      var_estimate = outer_product(*slot);
      mean_of_rows(*slot);
    } else {
      grad_squared = make_like("mul", slot->param->grad);
      var_estimate = make_like("clone", slot->state[kVariance]);
    }
    update = std::move(var_estimate);
    apply_update(resharding, *slot, update);
  }
  eager::end_of_frame(row_mean, col_mean, grad_squared, update);
}

// _group_tensors_by_device_dtype_and_is_multidim: within a dtype in order of appearance.
std::vector<Slots> by_dtype_and_rank(const Slots& slots) {
  std::vector<Slots> result;
  for (const auto& group : by_dtype(slots)) {
    const bool first = is_factored(*group.front());
    Slots same;
    Slots other;
    for (Slot* slot : group) {
      (is_factored(*slot) == first ? same : other).push_back(slot);
    }
    result.push_back(std::move(same));
    if (!other.empty()) {
      result.push_back(std::move(other));
    }
  }
  return result;
}

TensorVector estimate_factored(const Slots& slots) {
  mean_squares(slots, -1);
  mean_squares(slots, -2);
  TensorVector var_estimates;
  for (const Slot* slot : slots) {
    var_estimates.push_back(outer_product(*slot));
  }
  TensorVector row_var_means;
  for (const Slot* slot : slots) {
    row_var_means.push_back(mean_of_rows(*slot));
  }
  return var_estimates;
}

TensorVector estimate_vectors(const Slots& slots) {
  foreach_grads("_foreach_mul", slots);
  return foreach_state("clone", slots, kVariance);
}

// _multi_tensor_adafactor
void adafactor_lists(const Slots& slots) {
  TensorVector updates;
  for (const auto& group : by_dtype_and_rank(slots)) {
    for (const Slot* slot : group) {
      read_norm(slot->param);
    }
    updates = is_factored(*group.front()) ? estimate_factored(group) : estimate_vectors(group);
    for (const Tensor& update : updates) {
      read_norm(update);
    }
  }
}

}  // namespace

void adafactor(const Update& update, const Slots& slots) {
  for (Slot* slot : slots) {
    if (slot->state.empty()) {
      init_state(update.resharding, *slot);
    }
  }
  if (update.path == Path::foreach) {
    adafactor_lists(slots);
  } else {
    adafactor_one_by_one(update.resharding, slots);
  }
}

}  // namespace highwater::optim
