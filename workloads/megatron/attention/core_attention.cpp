#include "workloads/megatron/attention/core_attention.hpp"

#include <optional>

#include "workloads/megatron/layers/engine.hpp"
#include "workloads/megatron/layers/fused_ops.hpp"
#include "workloads/nn/layers.hpp"

namespace highwater::megatron {
namespace {

using eager::Scoped;

/// [s, b, heads, d] as [b, heads, s, d]. Transformer Engine makes [b, s, heads, d] contiguous
/// before (FlashAttention.forward of 2.20, backends.py).
Tensor heads_first(const Tensor& states, bool is_engine) {
  return is_engine ? eager::transpose(eager::contiguous(eager::transpose(states, 0, 1)), 1, 2)
                   : eager::permute(states, {1, 2, 0, 3});
}

}  // namespace

UnfusedCore::UnfusedCore(nn::ModelContext& context, const LayerContext& shared)
    : context_(context),
      tp_(shared.tp),
      repeats_(shared.config.heads / shared.config.kv_heads),
      dropout_(context.dropout(shared.config.attention_dropout)) {}

Tensor UnfusedCore::operator()(QueryKeyValue in) const {
  if (repeats_ > 1) {
    in.key = eager::repeat_interleave(in.key, repeats_, 2);
    in.value = eager::repeat_interleave(in.value, repeats_, 2);
  }
  const Dims sizes = in.query.sizes();
  const std::int64_t heads = sizes[1] * sizes[2];
  in.query = by_head(in.query, heads);
  in.key = by_head(in.key, heads);
  const Tensor buffer = tp_.global_buffer({heads, sizes[0], sizes[0]}, in.query.dtype());
  Tensor scores = eager::baddbmm(buffer, eager::transpose(in.query, 0, 1),
                                 eager::transpose(eager::transpose(in.key, 0, 1), 1, 2));
  Tensor probabilities = eager::dropout(causal_softmax(scores), dropout_, context_.training);
  in.value = by_head(in.value, heads);
  Tensor mixed = eager::bmm(probabilities, eager::transpose(in.value, 0, 1));
  mixed = eager::contiguous(
      eager::permute(eager::view(mixed, {sizes[1], sizes[2], sizes[0], sizes[3]}), {2, 0, 1, 3}));
  eager::end_of_frame(in.query, in.key, in.value, scores, probabilities);
  return eager::view(mixed, {sizes[0], sizes[1], -1});
}

Tensor UnfusedCore::by_head(const Tensor& states, std::int64_t heads) {
  return eager::reshape(states, {states.size(0), heads, -1});
}

FlashCore::FlashCore(nn::ModelContext& context, const LayerContext& shared)
    : context_(context), dropout_(context.dropout(shared.config.attention_dropout)) {}

Tensor FlashCore::operator()(const QueryKeyValue& in) const {
  const Scoped<std::optional<SdpaBackend>> backend(context_.runtime.sdpa_backend,
                                                   SdpaBackend::flash);
  const bool is_engine = uses_engine(context_);
  Tensor out = eager::scaled_dot_product_attention(
      heads_first(in.query, is_engine), heads_first(in.key, is_engine),
      heads_first(in.value, is_engine), {},
      {.dropout = context_.training ? dropout_ : 0.0,
       .is_causal = true,
       .enable_gqa = in.query.size(2) != in.key.size(2)});
  out = eager::contiguous(eager::permute(out, {2, 0, 1, 3}));
  return eager::view(out, {out.size(0), out.size(1), -1});
}

}  // namespace highwater::megatron
