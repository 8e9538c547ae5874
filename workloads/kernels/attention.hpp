// Fused attention: which kernel scaled_dot_product_attention picks, and what that kernel allocates.
//
// The results (output, gradients) are the caller's tensors; these are the other blocks, in order.
// Notation: b batch, h heads, s query length, k key length, d head dimension; the kernels see [b,
// s, h, d], that is the transposed views of SDPA's arguments. Facts:
// ATen/native/transformers/cuda/{sdp_utils.cpp,attention.cu,attention_backward.cu},
// flash_attn/flash_api.cpp, mem_eff_attention/kernels/generate_kernels.py, kernel_backward.h (2.6).
#pragma once

#include <cstdint>
#include <optional>

#include "traces/release.hpp"
#include "workloads/plan/dtype.hpp"
#include "workloads/plan/gpu.hpp"

namespace highwater {

/// Shapes of one call: query [batch, heads, q_len, head_dim], key and value [batch, kv_heads, ...].
struct AttentionShape {
  std::int64_t batch = 1;
  std::int64_t heads = 1;
  std::int64_t kv_heads = 1;
  std::int64_t q_len = 1;
  std::int64_t kv_len = 1;
  std::int64_t head_dim = 64;
  std::int64_t v_head_dim = 64;
};

enum class SdpaBackend : std::uint8_t { math, flash, efficient, cudnn };

/// The properties of a call that determine the kernel.
struct SdpaCall {
  AttentionShape shape;
  DType dtype = DType::fp32;
  bool mask = false;  ///< attn_mask given
  bool mask_requires_grad = false;
  bool is_causal = false;
  bool enable_gqa = false;
  bool requires_grad = true;        ///< any of q, k, v, with gradients enabled
  bool last_dim_contiguous = true;  ///< of q, k, v and the mask
  double dropout = 0.0;
  Release torch = {2, 6};
  /// The one backend that sdpa_kernel(...) allows.
  std::optional<SdpaBackend> forced = std::nullopt;
};

/// The kernel that runs; std::nullopt if the forced one cannot (PyTorch: "No available kernel").
std::optional<SdpaBackend> select_sdpa_backend(const Gpu& gpu, const SdpaCall& call);

/// The head dimension flash attention works on: d rounded up to 8. Where it differs from d, SDPA
/// first pads q, k, v (three new [b, h, s, padded] tensors) and returns a slice of the output.
std::int64_t flash_padded_head_dim(std::int64_t head_dim);

/// Forward: output (like q, keeping its strides), logsumexp, split_logsumexp, split_output; freed
/// at the end: split_output, split_logsumexp. Without gradients logsumexp is freed as well.
struct FlashForward {
  std::int64_t logsumexp = 0;        ///< [b, h, s] float
  std::int64_t split_logsumexp = 0;  ///< 0 unless the keys are split over blocks
  std::int64_t split_output = 0;
};

FlashForward flash_forward(const Gpu& gpu, const AttentionShape& shape, double dropout);

/// Backward: contiguous copies of grad and of output (each only if its [b, s, h, d] view is not
/// contiguous), dq, dk, dv (like q, k, v), softmax_d, dq_accum, dk_expanded, dv_expanded; freed in
/// exactly the reverse order without dq, dk, dv.
struct FlashBackward {
  std::int64_t softmax_d = 0;
  std::int64_t dq_accum = 0;
  std::int64_t dk_expanded = 0;  ///< 0 unless heads are grouped
  std::int64_t dv_expanded = 0;
};

FlashBackward flash_backward(const AttentionShape& shape, DType dtype);

/// What the backward needs; forwards without gradients for q, k, v leave it out.
enum class Logsumexp : std::uint8_t { omitted, computed };

/// Forward: output [b, s, h, d] contiguous, logsumexp, accumulator (freed at the end).
struct EfficientForward {
  std::int64_t logsumexp =
      0;  ///< [b, h, s rounded up to 32] float; 0 without gradients for q, k, v
  std::int64_t accumulator = 0;  ///< [b, s, h, d] float: 16-bit types with d > 128
};

EfficientForward efficient_forward(const AttentionShape& shape, DType dtype, Logsumexp logsumexp);

/// Backward: contiguous copy of grad (if its [b, s, h, d] view is not contiguous), dq, dk, dv
/// ([b, s, h, d] contiguous), grad_bias, dk and dv for each query head if heads are grouped (2.14),
/// then either delta, or the elementary operators that
/// compute it: float_grad, float_output, product, row_sums, delta, freed again in the order
/// row_sums, product, float_output, float_grad; then workspace. At the end: delta, workspace, copy.
struct EfficientBackward {
  std::int64_t grad_bias = 0;  ///< only if the mask wants a gradient; last dimension rounded to 16
  std::int64_t dk_expanded = 0;  ///< a kernel of its own sums them over a group
  std::int64_t dv_expanded = 0;
  std::int64_t float_grad = 0;  ///< 0 unless 16-bit inputs are converted
  std::int64_t float_output = 0;
  std::int64_t product = 0;   ///< grad * output
  std::int64_t row_sums = 0;  ///< its sum over d, [b, s, h]
  std::int64_t delta = 0;     ///< [b, h, s] float
  std::int64_t workspace = 0;
};

EfficientBackward efficient_backward(const Gpu& gpu, const AttentionShape& shape, DType dtype,
                                     double dropout, bool bias_requires_grad);

}  // namespace highwater
