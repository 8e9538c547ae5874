#include "workloads/megatron/data_parallel/optimizer.hpp"

#include <algorithm>
#include <utility>

#include "workloads/optim/expressions.hpp"
#include "workloads/plan/precision.hpp"

namespace highwater::megatron {

using eager::Tensor;

// Groups: parameters with weight decay, then biases and everything one-dimensional
// (get_standard_config_overrides).
MixedPrecisionOptimizer::MixedPrecisionOptimizer(DistributedDataParallel& ddp, Precision precision,
                                                 Managed managed, std::optional<Muon> muon)
    : ddp_(ddp),
      runtime_(ddp.named().front().tensor.runtime()),
      has_scaler_(precision == Precision::fp16),
      managed_(managed),
      muon_(std::move(muon)) {
  if (precision == Precision::fp32) {
    make_slots(Parameters::matrices);
    make_slots(Parameters::vectors);
    scale_ = number(1, DType::fp32, Category::optimizer_state);
    return;
  }
  if (has_scaler_) {  // DynamicGradScaler: scale, least scale, growth and backoff factors
    scale_ = number(1, DType::fp32, Category::optimizer_state);
    for (Tensor& factor : scaler_factors_) {
      factor = number(1, DType::fp32, Category::optimizer_state);
    }
    found_inf_ = number(1, DType::fp32, Category::optimizer_state);
    overflow_ = number(1, DType::int32, Category::optimizer_state);
  } else if (managed_ != Managed::more_matrices) {
    scale_ = number(1, DType::fp32, Category::optimizer_state);
  }
  make_slots(Parameters::matrices);
  make_slots(Parameters::vectors);
}

Tensor MixedPrecisionOptimizer::number(std::int64_t count, DType dtype, Category category) const {
  Tensor tensor = eager::empty(runtime_, {count}, dtype);
  runtime_.categorize(tensor, category);
  return tensor;
}

// The part of a parameter's gradients that this rank updates.
std::optional<Range> MixedPrecisionOptimizer::owned(std::size_t param) const {
  return ddp_.is_distributed() ? owned_part(ddp_.layout(), param, ddp_.place())
                               : std::optional(ddp_.layout().params[param]);
}

bool MixedPrecisionOptimizer::manages(const Tensor& param) const {
  return managed_ == Managed::all || param->is_target == is_muon();
}

// param.detach().clone().float(), of the shard if there are shards.
Tensor MixedPrecisionOptimizer::updated_copy(const Tensor& param, const Range& part) const {
  if (param.dtype() == DType::fp32) {
    return param;
  }
  const eager::Dims sizes = is_muon() ? param.sizes() : eager::Dims{part.size()};
  const Tensor copy = eager::empty(runtime_, sizes, param.dtype());
  Tensor updated = eager::to_dtype(copy, DType::fp32);
  runtime_.categorize(updated, Category::optimizer_state);
  return updated;
}

void MixedPrecisionOptimizer::make_slots(Parameters which) {
  const eager::NoGrad no_grad(runtime_);
  const std::size_t count = ddp_.named().size();
  for (std::size_t at = 0; at < count; ++at) {
    // Shards come in the order of the buffer, from the last parameter to the first.
    const bool are_shards = ddp_.is_distributed() && !is_muon();
    const std::size_t i = are_shards ? count - 1 - at : at;
    const Tensor& param = ddp_.named()[i].tensor;
    const auto part = owned(i);
    if ((param.dim() > 1) == (which == Parameters::matrices) && manages(param) && part) {
      const nn::NamedTensor& named = ddp_.named()[i];
      slots_.push_back({.range = *part,
                        .parameter = updated_copy(param, *part),
                        .grad = {},
                        .exp_avg = {},
                        .exp_avg_sq = {},
                        .is_qkv = named.name.ends_with("linear_qkv.weight"),
                        .partition_dim = partition_dim(named)});
    }
  }
}

Tensor MixedPrecisionOptimizer::scale(const Tensor& loss) const {
  return eager::mul(loss, scale_);
}

// main_param.grad = model_param.main_grad.float().
void MixedPrecisionOptimizer::prepare_grads() {
  for (Slot& slot : slots_) {
    slot.grad = eager::to_dtype(ddp_.gradients(slot.range), DType::fp32);
    runtime_.categorize_transient(slot.grad, Category::gradient);
  }
  if (has_scaler_) {
    unscale();
  }
}

// _unscale_main_grads_and_check_for_nan: in place; inv_scale and found_inf > 0 are single numbers.
void MixedPrecisionOptimizer::unscale() {
  constexpr DType kDouble = DType::int64;  // eight bytes
  Tensor wide = number(1, kDouble, Category::temporary);
  Tensor reciprocal = number(1, kDouble, Category::temporary);
  wide.reset();
  const Tensor inverse = number(1, DType::fp32, Category::temporary);
  reciprocal.reset();
  runtime_.synchronize();
}

// get_grad_norm_fp32 with Apex's multi_tensor_l2norm: an overflow flag, 320 partial sums, a result,
// its square. Gradients are clipped in place.
void MixedPrecisionOptimizer::clip_grad_norm() {
  constexpr std::int64_t kPartialSums = 320;
  const eager::OpScope op(runtime_, "multi_tensor_l2norm");
  Tensor flag = number(1, DType::int32, Category::temporary);
  Tensor partial = number(kPartialSums, DType::fp32, Category::temporary);
  Tensor norm = number(1, DType::fp32, Category::temporary);
  partial.reset();
  Tensor total = number(1, DType::fp32, Category::temporary);
  runtime_.synchronize();
  total.reset();
  flag.reset();
  norm.reset();
}

Tensor MixedPrecisionOptimizer::muon_update(const Slot& slot) const {
  const bool is_split = slot.is_qkv && muon_->split;
  return muon_->orthogonalizer(slot.exp_avg, is_split ? &*muon_->split : nullptr,
                               slot.partition_dim);
}

// OrthogonalizedOptimizer.step: an update lives until the next one exists, Nesterov's gradient
// until the next matrix is begun.
void MixedPrecisionOptimizer::update_by_muon() {
  const eager::NoGrad no_grad(runtime_);
  Tensor nesterov;
  Tensor update;
  for (const Slot& slot : slots_) {
    nesterov.reset();
    if (muon_->has_nesterov) {
      nesterov = optim::unary("lerp", slot.grad);
    }
    update = muon_update(slot);
  }
  eager::end_of_frame(nesterov, update);
}

void MixedPrecisionOptimizer::step() {
  for (Slot& slot : slots_) {
    if (!slot.exp_avg.defined()) {
      for (Tensor* moment : {&slot.exp_avg, &slot.exp_avg_sq}) {
        if (is_muon() && moment == &slot.exp_avg_sq) {
          continue;
        }
        const eager::OpScope op(runtime_, "zeros_like");
        *moment = eager::empty_like(slot.parameter, DType::fp32);
        runtime_.categorize(*moment, Category::optimizer_state);
      }
    }
  }
  if (is_muon()) {
    update_by_muon();
  } else {
    runtime_.launch(1);
  }
  if (ddp_.is_distributed()) {
    ddp_.gather_params();
  }
}

void MixedPrecisionOptimizer::zero_grad() {
  for (Slot& slot : slots_) {
    slot.grad.reset();
  }
}

}  // namespace highwater::megatron
