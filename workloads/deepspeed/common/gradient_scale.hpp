// What a ZeRO optimizer's step needs from the gradients before the update: their norm over all
// ranks, whether fp16 overflowed, and the factor that unscales and clips them.
//
// Source: DeepSpeed 0.16.4, runtime/zero/stage_1_and_2.py (get_grad_norm_direct,
// scaled_global_norm, unscale_and_clip_grads, has_overflow) and stage3.py (the functions of the
// same names); and 0.19.8, which has some of them in runtime/utils.py. The norm
// converts each gradient to fp64, which is the largest block of many steps.
#pragma once

#include <span>

#include "workloads/distributed/process_group.hpp"
#include "workloads/optim/tensor_vector.hpp"
#include "workloads/plan/deepspeed_release.hpp"

namespace highwater::deepspeed {

/// torch.float64 is not among the types of models; only its size matters here.
inline constexpr DType kDouble = DType::int64;

/// get_grad_norm_direct of stage 1 and 2: a scalar, summed over `group`.
eager::Tensor flat_gradient_norm(dist::ProcessGroup& group,
                                 std::span<const eager::Tensor> gradients,
                                 DeepspeedRelease release);

/// The tail that both stages share: -1 instead of infinity and NaN. `total_norm` is the caller's
/// variable, bound again to the result; the caller's earlier locals are released between its own.
struct FiniteNorm {
  eager::Tensor is_inf;
  eager::Tensor is_nan;
  eager::Tensor inf_or_nan;
  eager::Tensor err;

  FiniteNorm(eager::Tensor& total_norm, DeepspeedRelease release);
};

/// mask_nan_or_inf_with_val_inplace of 0.19.8.
void mask_in_place(const eager::Tensor& total_norm);

/// combine_grad_norm_groups of 0.19.8: infinity if one of them is invalid.
eager::Tensor combined_norm(const optim::TensorVector& norm_groups);

/// is_invalid_grad_norm of 0.19.8; the host reads the answer.
void ask_whether_invalid(const eager::Tensor& norm);

/// torch.linalg.vector_norm(torch.stack(norm_groups)), which is then divided by the loss scale.
eager::Tensor norm_of_groups(const optim::TensorVector& norm_groups);

/// Whether x has an infinity or NaN: a scalar. 0.16.4 converts x to fp32, 0.19.8 looks at its
/// largest and smallest element.
eager::Tensor has_inf_or_nan(const eager::Tensor& x, DeepspeedRelease release);

/// tensor.isinf(), which compares a copy of the absolute values.
eager::Tensor isinf(const eager::Tensor& x);

/// grad.mul_(1. / combined_scale) of gradients that are clipped; only then is the scale a tensor.
void unscale_and_clip(const eager::Tensor& total_norm);

}  // namespace highwater::deepspeed
