// AdamW on projections of the gradients of matrices to a low rank: GaLore (galore_torch 1.0,
// adamw.py) and APOLLO (apollo_torch 1.0.3, apollo.py).
#include <algorithm>

#include "workloads/eager/ops.hpp"
#include "workloads/optim/algorithms.hpp"
#include "workloads/optim/expressions.hpp"
#include "workloads/optim/projection.hpp"

namespace highwater::optim {

namespace {

enum State : std::uint8_t { kExpAvg, kExpAvgSq, kProjection, kNorm };

enum Variable : std::uint8_t { kGrad, kDenom, kNormGrad, kFactor, kScaled, kScaledNorm };

// The old one is freed once the new one exists.
void replace_state(Slot& slot, std::size_t index, Tensor tensor) {
  tensor.runtime().categorize(tensor, Category::optimizer_state);
  slot.state[index] = std::move(tensor);
}

void project_gradient(const Update& update, Slot& slot, MakeProjection make) {
  Tensor& grad = (*update.frame)[kGrad];
  slot.state.resize(std::max<std::size_t>(slot.state.size(), kNorm));
  grad = project(update, slot.state[kProjection], grad, make);
}

void init_moments(Slot& slot, const Tensor& grad) {
  slot.state.resize(std::max<std::size_t>(slot.state.size(), kProjection));
  for (const State moment : {kExpAvg, kExpAvgSq}) {
    if (!slot.state[moment].defined()) {
      replace_state(slot, moment, make_like("zeros_like", grad));
    }
  }
}

// denom = exp_avg_sq.sqrt().add_(eps); norm_grad = exp_avg / denom
void normalize(Frame& frame, const Slot& slot) {
  frame[kDenom] = unary("sqrt", slot.state[kExpAvgSq]);
  frame[kNormGrad] = binary("div", slot.state[kExpAvg], frame[kDenom]);
}

// The limit of the norm's growth. max() reads what it compares, and gives the number 1.01 unless
// the norm grew by more.
void limit_growth(Frame& frame, Slot& slot) {
  if (slot.state.size() <= kNorm) {
    add_state(slot, norm(frame[kScaled]));
    return;
  }
  frame[kScaledNorm] = norm(frame[kScaled]);
  make_like("gt", binary("div", frame[kScaledNorm], unary("add", slot.state[kNorm])),
            DType::boolean);
  slot.param.runtime().synchronize();
  frame[kScaled] = unary("div", frame[kScaled]);
  replace_state(slot, kNorm, unary("div", frame[kScaledNorm]));
}

// The gradient, scaled for each channel as AdamW scaled it in the low rank.
void scale_channels(Frame& frame, Slot& slot) {
  const Tensor& whole = slot.param->grad;
  const std::int64_t dim = whole.size(0) < whole.size(1) ? 0 : 1;
  Tensor scaled = norm(frame[kNormGrad], dim);
  frame[kFactor] = binary("div", std::move(scaled), unary("add", norm(frame[kGrad], dim)));
  if (dim == 1) {
    frame[kFactor] = eager::unsqueeze(frame[kFactor], 1);
  }
  frame[kScaled] = binary("mul", whole, frame[kFactor]);
  limit_growth(frame, slot);
  frame[kNormGrad] = frame[kScaled];
}

}  // namespace

void galore_adamw(const Update& update, const Slots& slots) {
  Frame& frame = *update.frame;
  for (Slot* slot : slots) {
    frame[kGrad] = slot->param->grad;
    if (slot->param->is_target) {
      project_gradient(update, *slot, singular_vectors);
    }
    init_moments(*slot, frame[kGrad]);
    normalize(frame, *slot);
    if (slot->param->is_target) {
      frame[kNormGrad] = projected_back(frame[kNormGrad], slot->state[kProjection]);
    }
  }
}

void apollo_adamw(const Update& update, const Slots& slots) {
  Frame& frame = *update.frame;
  for (Slot* slot : slots) {
    frame[kGrad] = slot->param->grad;
    if (slot->param->is_target) {
      project_gradient(update, *slot, random_projection);
    }
    init_moments(*slot, frame[kGrad]);
    normalize(frame, *slot);
    if (slot->param->is_target) {
      scale_channels(frame, *slot);
    }
  }
}

}  // namespace highwater::optim
