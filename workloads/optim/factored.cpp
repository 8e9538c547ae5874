// Optimizers that keep rows and columns of the second moment in fp32 and loop over parameters:
// transformers' Adafactor (optimization.py, 5.23; scale_parameter and relative_step off, as Trainer
// has it), GaLore's copy of it (galore_torch 1.0, adafactor.py), CAME (came_pytorch/CAME.py, 0.1.3)
// and AdaLomo (lomo_optim/adalomo.py, 0.1.1).
#include <algorithm>

#include "workloads/eager/ops.hpp"
#include "workloads/optim/algorithms.hpp"
#include "workloads/optim/expressions.hpp"
#include "workloads/optim/projection.hpp"

namespace highwater::optim {

namespace {

bool is_factored(const Tensor& param) {
  return param.dim() > 1;
}

Dims without(const Tensor& like, std::size_t dim) {
  Dims sizes = like.sizes();
  sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(dim));
  return sizes;
}

// Rows and columns of what is squared, made on the host.
void add_factors(Slot& slot, const Tensor& squared) {
  add_state(slot, zeros(squared, without(squared, squared.dim() - 1), DType::fp32));
  add_state(slot, zeros(squared, without(squared, squared.dim() - 2), DType::fp32));
}

// _rms(tensor)
Tensor root_mean_square(const Tensor& tensor) {
  return unary("div", norm(tensor));
}

// grad ** 2 + eps
Tensor square(const Tensor& grad) {
  return unary("add", unary("pow", grad));
}

// update.mean(dim=-1), update.mean(dim=-2), each added in place
void average(const Tensor& update) {
  mean_over(update, -1);
  mean_over(update, -2);
}

// _approx_sq_grad
Tensor approximation(const Tensor& row, const Tensor& col) {
  Tensor r_factor =
      eager::unsqueeze(binary("div", row, mean_over(row, -1, eager::KeepDim::yes)), -1);
  Tensor c_factor = unary("rsqrt", eager::unsqueeze(col, -2));
  Tensor result = binary("mul", r_factor, c_factor);
  eager::end_of_frame(r_factor, c_factor);
  return result;
}

// From the squares to the update, clipped by its norm: states `row` and the one after it, or
// `row` alone for vectors.
void estimate(Tensor& update, const Slot& slot, std::size_t row) {
  if (is_factored(slot.param)) {
    average(update);
    update = approximation(slot.state[row], slot.state[row + 1]);
  } else {
    update = unary("rsqrt", slot.state[row]);
  }
  unary("div", root_mean_square(update));  // clamp_, by which update is divided in place
}

// `variable` = value; `variable` = variable.float()
void bind_float(Tensor& variable, const Tensor& value) {
  variable = value;
  variable = cast(variable, DType::fp32);
}

}  // namespace

namespace {

void init_adafactor(Slot& slot, const Tensor& grad) {
  if (is_factored(slot.param)) {
    add_factors(slot, grad);
  } else {
    add_state(slot, make_like("zeros_like", grad));
  }
  add_state(slot, Tensor{});  // RMS
  slot.is_initialized = true;
}

}  // namespace

// Only GaLore's has targets; their projections are the first state.
void adafactor_hf(const Update& update, const Slots& slots) {
  enum : std::uint8_t { kGrad, kParam, kUpdate };

  Frame& frame = *update.frame;
  for (Slot* slot : slots) {
    const bool is_target = slot->param->is_target;
    bind_float(frame[kGrad], slot->param->grad);
    if (is_target) {
      slot->state.resize(std::max<std::size_t>(slot->state.size(), 1));
      frame[kGrad] = project(update, slot->state[0], frame[kGrad], singular_vectors);
    }
    if (!slot->is_initialized) {
      init_adafactor(*slot, frame[kGrad]);
    }
    bind_float(frame[kParam], slot->param);
    slot->state.back() = root_mean_square(frame[kParam]);
    frame[kUpdate] = square(frame[kGrad]);
    estimate(frame[kUpdate], *slot, is_target ? 1 : 0);
    if (is_target) {
      frame[kUpdate] = projected_back(frame[kUpdate], slot->state[0]);
    }
    unary("neg", frame[kUpdate]);
  }
}

namespace {

void init_came(Slot& slot, const Tensor& grad) {
  add_state(slot, make_like("zeros_like", grad));
  if (is_factored(slot.param)) {
    add_factors(slot, grad);
    add_factors(slot, grad);
  } else {
    add_state(slot, make_like("zeros_like", grad));
  }
  add_state(slot, Tensor{});  // RMS
}

}  // namespace

void came(const Update& update, const Slots& slots) {
  enum : std::uint8_t { kGrad, kUpdate, kResidual, kApproximation };

  enum : std::uint8_t { kExpAvg, kRow, kCol, kResidualRow, kResidualCol };

  Frame& frame = *update.frame;
  for (Slot* slot : slots) {
    bind_float(frame[kGrad], slot->param->grad);
    if (slot->state.empty()) {
      init_came(*slot, frame[kGrad]);
    }
    slot->state.back() = root_mean_square(slot->param);
    frame[kUpdate] = square(frame[kGrad]);
    estimate(frame[kUpdate], *slot, kRow);
    frame[kResidual] =
        unary("add", unary("pow", binary("sub", frame[kUpdate], slot->state[kExpAvg])));
    if (is_factored(slot->param)) {
      average(frame[kResidual]);
      frame[kApproximation] = approximation(slot->state[kResidualRow], slot->state[kResidualCol]);
      frame[kUpdate] = frame[kApproximation];
    } else {
      frame[kUpdate] = unary("clone", slot->state[kExpAvg]);
    }
    unary("neg", frame[kUpdate]);
  }
}

void adalomo_init(Slot& slot) {
  if (is_factored(slot.param)) {
    add_factors(slot, slot.param);
  } else {
    add_state(slot, make_like("zeros_like", slot.param, DType::fp32));
  }
}

// fuse_update. The learning rate is multiplied by the parameter's root mean square where this is
// above 0.001, which max() reads, as it is of all but vectors that begin at zero.
void adalomo(const Update& update, const Slots& slots) {
  enum : std::uint8_t { kGrad, kUpdate, kParam, kRms, kRate, kScale };

  Frame& frame = *update.frame;
  for (Slot* slot : slots) {
    frame[kGrad] = cast(slot->param->grad, DType::fp32);
    slot->param->grad.reset();
    frame[kUpdate] = square(frame[kGrad]);
    estimate(frame[kUpdate], *slot, 0);
    frame[kParam] = cast(slot->param, DType::fp32);
    frame[kRms] = root_mean_square(frame[kParam]);
    frame[kRate].reset();
    make_like("gt", frame[kRms], DType::boolean);
    update.runtime->synchronize();
    frame[kScale] = frame[kRms];
    frame[kRate] = unary("mul", frame[kScale]);
    unary("neg", frame[kRate]);
    update.runtime->synchronize();
  }
}

}  // namespace highwater::optim
