// grokadamw/grokadamw.py (0.1.2): three states on the host, which are on the GPU while their
// parameter is updated; each gradient is clipped by itself.
#include <array>

#include "workloads/eager/ops.hpp"
#include "workloads/optim/algorithms.hpp"
#include "workloads/optim/clip_grad.hpp"
#include "workloads/optim/expressions.hpp"

namespace highwater::optim {

// _update_group
void grokadamw(const Update& update, const Slots& slots) {
  Tensor exp_avg;
  Tensor exp_avg_sq;
  Tensor grok_ema;
  Tensor grok_grad;
  for (const Slot* slot : slots) {
    const Tensor& grad = slot->param->grad;
    Tensor first = make_like("to", slot->param);
    Tensor second = make_like("to", slot->param);
    exp_avg_sq = std::move(second);  // CPython assigns a pair from its end
    exp_avg = std::move(first);
    grok_ema = make_like("to", slot->param);
    clip_grad_norm(*update.runtime, std::array{slot->param});
    grok_grad = binary("add", grad, unary("mul", grok_ema));
    unary("sqrt", exp_avg_sq);
    update.runtime->synchronize();  // copies back to pageable memory
  }
  eager::end_of_frame(exp_avg, exp_avg_sq, grok_ema, grok_grad);
}

}  // namespace highwater::optim
