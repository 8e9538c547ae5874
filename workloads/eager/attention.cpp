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

bool requires_grad(const Operands& in) {
  return in.query.runtime().grad_enabled &&
         (in.query.requires_grad() || in.key.requires_grad() || in.value.requires_grad());
}

Logsumexp logsumexp_of(const Operands& in) {
  return requires_grad(in) ? Logsumexp::computed : Logsumexp::omitted;
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
                      .requires_grad = requires_grad(in),
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

// --- composed of elementary operators, in fp32 (_scaled_dot_product_attention_math of 2.6) ------
//
// Its gradient is that of the operators. Locals are declared so that they are destroyed in the same
// order as in the C++ original: the last declared first, the returned pair at the very end.

namespace {

// ones(L, S).tril() as an additive mask.
Tensor causal_mask(Runtime& runtime, std::int64_t queries, std::int64_t keys) {
  Tensor lower;
  {
    OpScope op(runtime, "tril");
    const Tensor ones = empty(runtime, {queries, keys}, DType::boolean);
    lower = empty(runtime, {queries, keys}, DType::boolean);
  }
  return additive_mask(lower, DType::fp32);
}

// pre_process_group_query_attention_input.
Tensor for_each_query_head(const Tensor& self, const Operands& in, const SdpaOptions& options) {
  if (!options.enable_gqa || in.query.size(1) == self.size(1)) {
    return self;
  }
  return repeat_interleave(self, in.query.size(1) / self.size(1), 1);
}

// The attention weights. `mask` lives on in the caller until the products are done.
Tensor attention_weights(const Tensor& query, const Tensor& key, const Tensor& mask,
                         double dropout_p) {
  Tensor weights = matmul(query, mul(transpose(key, -2, -1), 1.0));
  if (mask.defined()) {
    weights = add_(weights, mask);
  }
  weights = safe_softmax(weights, -1);
  weights = dropout(weights, dropout_p, true);
  return weights;
}

}  // namespace

Tensor math_attention(const Operands& in, const SdpaOptions& options) {
  Runtime& runtime = in.query.runtime();
  const DType dtype = in.query.dtype();
  Tensor returned_weights;
  const Tensor wide_query = to_dtype(in.query, DType::fp32);
  const Tensor wide_key = to_dtype(in.key, DType::fp32);
  const Tensor wide_value = to_dtype(in.value, DType::fp32);
  Tensor mask = in.mask;
  const Tensor query = mul(wide_query, 1.0);
  if (options.is_causal) {
    mask = causal_mask(runtime, query.size(2), in.key.size(2));
  }
  Tensor key = for_each_query_head(wide_key, in, options);
  Tensor value = for_each_query_head(wide_value, in, options);
  Tensor weights = attention_weights(query, key, mask, options.dropout);
  returned_weights = to_dtype(weights, dtype);
  Tensor output = to_dtype(matmul(weights, value), dtype);
  end_of_frame(weights, key, value);
  return output;
}

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
