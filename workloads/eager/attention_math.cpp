// Attention composed of elementary operators, in fp32 (_scaled_dot_product_attention_math of 2.6).
//
// Its gradient is that of the operators. Locals are declared so that they are destroyed in the same
// order as in the C++ original: the last declared first, the returned pair at the very end.
#include "workloads/eager/attention_kernels.hpp"
#include "workloads/eager/runtime.hpp"

namespace highwater::eager::sdpa {

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

}  // namespace highwater::eager::sdpa
