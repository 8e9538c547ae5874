// scaled_dot_product_attention: autocast, conversion of boolean masks, choice of the kernel
// (ATen/native/transformers/attention.cpp, cuda/sdp_utils.cpp of PyTorch 2.6).
#include "traces/error.hpp"
#include "workloads/eager/attention_kernels.hpp"
#include "workloads/eager/autocast.hpp"
#include "workloads/eager/runtime.hpp"

namespace highwater::eager {

namespace sdpa {

AttentionShape shape_of(const Operands& in) {
  return {.batch = in.query.size(0),
          .heads = in.query.size(1),
          .kv_heads = in.key.size(1),
          .q_len = in.query.size(2),
          .kv_len = in.key.size(2),
          .head_dim = in.query.size(3),
          .v_head_dim = in.value.size(3)};
}

bool wants_logsumexp(const Operands& in) {
  return in.query.runtime().grad_enabled &&
         (in.query.requires_grad() || in.key.requires_grad() || in.value.requires_grad());
}

Tensor swap_heads(const Tensor& self) {
  Tensor result = alias(self);
  std::swap(result->sizes[1], result->sizes[2]);
  std::swap(result->strides[1], result->strides[2]);
  return result;
}

Tensor additive_mask(const Tensor& mask, DType dtype) {
  Runtime& runtime = mask.runtime();
  Tensor minus_infinity = empty(runtime, {}, dtype);
  Tensor zero = empty(runtime, {}, dtype);
  Tensor result = where(mask, zero, minus_infinity);
  end_of_frame(zero, minus_infinity);
  return result;
}

TensorList run_forward(const FusedAttention& kernel, const Operands& in, const KernelCall& call) {
  SharedAttention* const shared = in.query.runtime().shared_attention;
  return shared == nullptr ? kernel.forward(in, call) : shared->forward(kernel, in, call);
}

TensorList run_backward(const FusedAttention& kernel, const BackwardOperands& in) {
  SharedAttention* const shared = in.grad.runtime().shared_attention;
  return shared == nullptr ? kernel.backward(in) : shared->backward(kernel, in);
}

Tensor empty_logsumexp(const Operands& in, std::int64_t bytes) {
  const AttentionShape shape = shape_of(in);
  const std::int64_t rows = bytes / item_size(DType::fp32) / (shape.batch * shape.heads);
  return empty(in.query.runtime(), {shape.batch, shape.heads, rows}, DType::fp32);
}

namespace {

// check_last_dim_stride_equals_1, which asks about the mask as well.
bool is_last_dim_contiguous(const Operands& in) {
  const auto passes = [](const Tensor& operand) {
    return !operand.defined() || operand.strides().back() == 1;
  };
  return passes(in.query) && passes(in.key) && passes(in.value) && passes(in.mask);
}

SdpaBackend choose(const Operands& in, const SdpaOptions& options) {
  const Runtime& runtime = in.query.runtime();
  const SdpaCall call{.shape = shape_of(in),
                      .dtype = in.query.dtype(),
                      .mask = in.mask.defined(),
                      .mask_requires_grad = in.mask.defined() && in.mask.requires_grad(),
                      .is_causal = options.is_causal,
                      .enable_gqa = options.enable_gqa,
                      .requires_grad = wants_logsumexp(in),
                      .last_dim_contiguous = is_last_dim_contiguous(in),
                      .dropout = options.dropout,
                      .torch = runtime.torch,
                      .forced = runtime.sdpa_backend};
  const auto backend = select_sdpa_backend(runtime.gpu, call);
  if (backend == SdpaBackend::math && runtime.shared_attention != nullptr) {
    throw InputError("plan", "cp",
                     "context_parallel() knows the fused attention kernels only, none of which "
                     "takes this dtype, head size and GPU",
                     "use precision bf16, or another model or GPU");
  }
  if (!backend) {
    throw InputError("plan", "attention",
                     "the requested attention kernel does not support this "
                     "dtype, mask or GPU",
                     "use --attention sdpa, or change one of them");
  }
  return *backend;
}

Tensor run(SdpaBackend backend, Operands& in, const SdpaOptions& options) {
  switch (backend) {
    case SdpaBackend::flash:
      return flash_attention(in, options);
    case SdpaBackend::cudnn:
      return cudnn_attention(in, options);
    case SdpaBackend::efficient:
      return efficient_attention(in, options);
    case SdpaBackend::math:
      break;
  }
  return math_attention(in, options);
}

}  // namespace

}  // namespace sdpa

Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const Tensor& mask, const SdpaOptions& options) {
  const AutocastOp cast(query.runtime());
  // The casts are arguments of one call, so they are evaluated from the last to the first.
  const Tensor cast_mask = cast.to_lower(mask);
  const Tensor cast_value = cast.to_lower(value);
  const Tensor cast_key = cast.to_lower(key);
  const Tensor cast_query = cast.to_lower(query);
  const sdpa::Operands in{
      .query = cast_query, .key = cast_key, .value = cast_value, .mask = cast_mask};
  const auto backend = sdpa::choose(in, options);
  sdpa::Operands call = in;
  if (in.mask.defined() && in.mask.dtype() == DType::boolean) {
    call.mask = sdpa::additive_mask(in.mask, in.query.dtype());
  }
  return sdpa::run(backend, call, options);
}

}  // namespace highwater::eager
