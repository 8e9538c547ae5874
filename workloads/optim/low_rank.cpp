// AdamW on projections of the gradients of matrices to a low rank: GaLore (galore_torch 1.0,
// adamw.py and galore_projector.py) and APOLLO (apollo_torch 1.0.3, apollo.py and
// random_projector.py), with proj_type std. Projections are made at the first step and every 200
// steps after.
#include <algorithm>

#include "workloads/eager/ops.hpp"
#include "workloads/optim/algorithms.hpp"
#include "workloads/optim/expressions.hpp"
#include "workloads/optim/linear_algebra.hpp"

namespace highwater::optim {

namespace {

constexpr int kProjectionGap = 200;  // update_proj_gap

enum State : std::uint8_t { kExpAvg, kExpAvgSq, kProjection, kNorm };

enum Variable : std::uint8_t { kGrad, kDenom, kNormGrad, kFactor, kScaled, kScaledNorm };

bool is_tall(const Tensor& matrix) {
  return matrix.size(0) >= matrix.size(1);
}

Tensor matrix_diag(const Tensor& values) {
  return zeros(values, {values.size(0), values.size(0)}, values.dtype());
}

// GaLoreProjector.get_orthogonal_matrix. The projection of an fp32 matrix is a view of the whole
// factor.
Tensor singular_vectors(const Tensor& grad, std::int64_t rank) {
  Tensor matrix = cast(grad, DType::fp32);
  Svd svd = thin_svd(matrix);
  Tensor left = eager::slice(svd.u, 1, 0, rank);
  Tensor right = eager::slice(svd.vh, 0, 0, rank);
  Tensor weighted = matrix_diag(eager::slice(svd.s, 0, 0, rank));
  Tensor product = is_tall(grad) ? eager::mm(left, weighted) : eager::mm(weighted, right);
  weighted.reset();
  Tensor result = cast(is_tall(grad) ? right : left, grad.dtype());
  eager::end_of_frame(left, right, matrix, svd.u, svd.s, svd.vh, product);
  return result;
}

// GradientProjector.get_orthogonal_matrix
Tensor random_projection(const Tensor& grad, std::int64_t rank) {
  const Tensor matrix = cast(grad, DType::fp32);
  const Dims sizes = is_tall(grad) ? Dims{rank, grad.size(1)} : Dims{grad.size(0), rank};
  Tensor random = zeros(grad, sizes, DType::fp32);
  const Tensor projection = unary("div", std::move(random));
  return cast(projection, grad.dtype());
}

Tensor projected(const Tensor& grad, const Tensor& projection) {
  return is_tall(grad) ? eager::mm(grad, eager::t(projection))
                       : eager::mm(eager::t(projection), grad);
}

// project_back: the product is a variable, which lives until its multiple exists.
Tensor projected_back(const Tensor& low_rank, const Tensor& projection) {
  const Tensor product =
      is_tall(low_rank) ? eager::mm(low_rank, projection) : eager::mm(projection, low_rank);
  return unary("mul", product);
}

// The old one is freed once the new one exists.
void replace_state(Slot& slot, std::size_t index, Tensor tensor) {
  tensor.runtime().categorize(tensor, Category::optimizer_state);
  slot.state[index] = std::move(tensor);
}

template <class MakeProjection>
void project(const Update& update, Slot& slot, const MakeProjection& make) {
  Tensor& grad = (*update.frame)[kGrad];
  slot.state.resize(std::max<std::size_t>(slot.state.size(), kNorm));
  if (update.step % kProjectionGap == 0 || !slot.state[kProjection].defined()) {
    replace_state(slot, kProjection, make(grad, update.choice->rank));
  }
  grad = projected(grad, slot.state[kProjection]);
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
      project(update, *slot, singular_vectors);
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
      project(update, *slot, random_projection);
    }
    init_moments(*slot, frame[kGrad]);
    normalize(frame, *slot);
    if (slot->param->is_target) {
      scale_channels(frame, *slot);
    }
  }
}

}  // namespace highwater::optim
