// torch/optim/_muon.py (PyTorch 2.9 to 2.15): one momentum buffer for each matrix, whose update is
// made orthogonal by five Newton-Schulz iterations in bf16. It has no multi-tensor version.
//
// Shards of fully_shard are DTensors: products of them choose their layouts (dtensor_matrix.hpp),
// and the update is brought back to rows where it is added to the parameter.
#include <fmt/format.h>

#include "traces/error.hpp"
#include "workloads/eager/ops.hpp"
#include "workloads/optim/algorithms.hpp"
#include "workloads/optim/dtensor_matrix.hpp"
#include "workloads/optim/expressions.hpp"

namespace highwater::optim {

namespace {

constexpr int kIterations = 5;  // DEFAULT_NS_STEPS

Tensor bf16_copy(const Tensor& matrix) {
  return make_like("to", matrix, DType::bf16);
}

DTensorMatrix bf16_copy(const DTensorMatrix& matrix) {
  DTensorMatrix copy = matrix;
  copy.local = bf16_copy(matrix.local);
  return copy;
}

// ortho_grad.norm().clamp(min=eps)
void clamped_norm(const Tensor& matrix) {
  unary("clamp", norm(matrix));
}

// Each rank's norm is a part, which the operator after it makes whole.
void clamped_norm(const DTensorMatrix& matrix) {
  Tensor part = norm(matrix.local);
  Tensor whole = matrix.resharding->full_norm(part);
  const Tensor clamped = make_like("clamp", whole);
  eager::end_of_frame(whole, part);
}

void release(Tensor& matrix) {
  matrix.reset();
}

void release(DTensorMatrix& matrix) {
  matrix.local.reset();
}

// _zeropower_via_newtonschulz
template <class Matrix>
Matrix orthogonal(const Matrix& grad) {
  const bool is_tall = grad.size(0) > grad.size(1);
  Matrix ortho_grad = bf16_copy(grad);
  if (is_tall) {
    ortho_grad = t(ortho_grad);
  }
  clamped_norm(ortho_grad);  // div_ by it
  Matrix gram_matrix;
  Matrix gram_update;
  for (int i = 0; i < kIterations; ++i) {
    gram_matrix = mm(ortho_grad, t(ortho_grad));
    gram_update = addmm(gram_matrix, gram_matrix, gram_matrix);
    ortho_grad = addmm(ortho_grad, gram_update, ortho_grad);
  }
  if (is_tall) {
    ortho_grad = t(ortho_grad);
  }
  release(gram_matrix);
  release(gram_update);
  return ortho_grad;
}

// An in-place operator keeps its operand's layout, and none has shards of fewer rows than ranks.
void check_rows(const Resharding& resharding, std::int64_t rows) {
  if (rows < resharding.ranks()) {
    throw InputError("plan", "optimizer muon",
                     fmt::format("a matrix has {} rows, fewer than the {} ranks that share it, and "
                                 "PyTorch's add_ of DTensors fails",
                                 rows, resharding.ranks()),
                     "use fewer ranks, or another optimizer");
  }
}

DTensorMatrix update_of_shard(const Resharding& resharding, const Slot& slot) {
  const std::int64_t rows = resharding.whole_rows(slot.param);
  check_rows(resharding, rows);
  return {.local = make_like("lerp", slot.param->grad),
          .whole = {.rows = rows, .columns = slot.param.size(1)},
          .layout = Layout::rows,
          .resharding = &resharding};
}

void update_whole(const Slots& slots) {
  Tensor update;
  for (const Slot* slot : slots) {
    update = make_like("lerp", slot->param->grad);
    update = orthogonal(update);
  }
}

void update_shards(const Resharding& resharding, const Slots& slots) {
  DTensorMatrix update;
  for (const Slot* slot : slots) {
    update = update_of_shard(resharding, *slot);
    update = orthogonal(update);
    redistributed(update, Layout::rows);  // param.add_
  }
}

}  // namespace

// _init_group, _single_tensor_muon
void muon(const Update& update, const Slots& slots) {
  for (Slot* slot : slots) {
    if (slot->state.empty()) {
      add_state(*slot, make_like("zeros_like", slot->param->grad));
    }
  }
  if (update.resharding != nullptr) {
    update_shards(*update.resharding, slots);
  } else {
    update_whole(slots);
  }
}

}  // namespace highwater::optim
