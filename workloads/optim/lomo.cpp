// lomo_optim/lomo.py (0.1.1), fuse_update: plain SGD without a state. A gradient is let go of
// before its parameter is updated, both in fp32.
#include "workloads/optim/algorithms.hpp"
#include "workloads/optim/expressions.hpp"

namespace highwater::optim {

void lomo(const Update& update, const Slots& slots) {
  enum : std::uint8_t { kGrad, kParam };

  Frame& frame = *update.frame;
  for (const Slot* slot : slots) {
    frame[kGrad] = cast(slot->param->grad, DType::fp32);
    slot->param->grad.reset();
    frame[kParam] = cast(slot->param, DType::fp32);
  }
}

}  // namespace highwater::optim
