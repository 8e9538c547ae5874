// torch/optim/_muon.py (PyTorch 2.9 to 2.15): one momentum buffer for each matrix, whose update is
// made orthogonal by five Newton-Schulz iterations in bf16. It has no multi-tensor version.
#include "workloads/eager/ops.hpp"
#include "workloads/optim/algorithms.hpp"
#include "workloads/optim/expressions.hpp"

namespace highwater::optim {

namespace {

constexpr int kIterations = 5;  // DEFAULT_NS_STEPS

// _zeropower_via_newtonschulz
Tensor orthogonal(const Tensor& grad) {
  const bool is_tall = grad.size(0) > grad.size(1);
  Tensor ortho_grad = make_like("to", grad, DType::bf16);
  if (is_tall) {
    ortho_grad = eager::t(ortho_grad);
  }
  unary("clamp", norm(ortho_grad));  // div_ by it
  Tensor gram_matrix;
  Tensor gram_update;
  for (int i = 0; i < kIterations; ++i) {
    gram_matrix = eager::mm(ortho_grad, eager::t(ortho_grad));
    gram_update = eager::addmm(gram_matrix, gram_matrix, gram_matrix);
    ortho_grad = eager::addmm(ortho_grad, gram_update, ortho_grad);
  }
  if (is_tall) {
    ortho_grad = eager::t(ortho_grad);
  }
  eager::end_of_frame(gram_matrix, gram_update);
  return ortho_grad;
}

}  // namespace

// _init_group, _single_tensor_muon
void muon(const Update& /*update*/, const Slots& slots) {
  for (Slot* slot : slots) {
    if (slot->state.empty()) {
      add_state(*slot, make_like("zeros_like", slot->param->grad));
    }
  }
  Tensor update;
  for (const Slot* slot : slots) {
    update = make_like("lerp", slot->param->grad);
    update = orthogonal(update);
  }
}

}  // namespace highwater::optim
