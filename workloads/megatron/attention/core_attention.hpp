// The core attention of one rank: scores written out with the fused softmax, or FlashAttention.
// Source: core/transformer/dot_product_attention.py of Megatron-Core 0.16.1.
#pragma once

#include "workloads/megatron/layers/layer_context.hpp"
#include "workloads/nn/module.hpp"

namespace highwater::megatron {

struct QueryKeyValue {
  Tensor query;  ///< [s, b, heads, d]
  Tensor key;    ///< [s, b, groups, d]
  Tensor value;
};

/// DotProductAttention with the fused softmax: scores of a batch times the heads at once, through
/// the global buffer that baddbmm ignores (beta 0).
class UnfusedCore {
 public:
  UnfusedCore(nn::ModelContext& context, const LayerContext& shared);

  Tensor operator()(QueryKeyValue in) const;

 private:
  static Tensor by_head(const Tensor& states, std::int64_t heads);

  nn::ModelContext& context_;
  TensorParallel& tp_;
  std::int64_t repeats_;
  double dropout_;
};

/// FlashAttention: views in, the result copied to [s, b, h].
class FlashCore {
 public:
  FlashCore(nn::ModelContext& context, const LayerContext& shared);

  Tensor operator()(const QueryKeyValue& in) const;

 private:
  nn::ModelContext& context_;
  double dropout_;
};

}  // namespace highwater::megatron
