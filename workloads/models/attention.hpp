// The attention functions that transformers' families share (integrations/sdpa_attention.py and
// eager_attention_forward of the modelling files).
#pragma once

#include <functional>

#include "workloads/nn/module.hpp"
#include "workloads/plan/model/family.hpp"

namespace highwater::models {

using eager::Tensor;

struct AttentionCall {
  Tensor query;  ///< [b, heads, s, d]
  Tensor key;    ///< [b, kv_heads, s, d]
  Tensor value;
  Tensor mask;                 ///< undefined: causal
  Tensor bias;                 ///< of positions, [1, heads, s, k], if the family has one
  Tensor sinks;                ///< a number for each head, if the family has them
  bool shifts_scores = false;  ///< by their greatest; sinks are a column of them: MiMo-V2
  double dropout = 0.0;
  std::int64_t groups = 1;   ///< query heads per key head
  bool is_grouped = false;   ///< the module has num_key_value_groups, even if it is 1
  bool is_causal = true;     ///< without a mask
  bool caps_scores = false;  ///< eager attention passes the scores through tanh: Gemma 2
};

/// What attention functions and modules return. Callers unpack the tuple, so the weights live until
/// the calling block's frame ends, wanted or not.
struct AttentionResult {
  Tensor output;
  Tensor weights;  ///< undefined with SDPA
};

using AttentionFunction = std::function<AttentionResult(AttentionCall)>;

/// Runs an attention function; a plan that checkpoints the core attention only
/// (selective_attention) recomputes it in backward from query, key, value and mask:
/// checkpoint(attention_function, ...).
AttentionResult core_attention(const nn::ModelContext& context, AttentionCall call,
                               const AttentionFunction& attend);

/// repeat_kv: views expanded and copied; the tensor itself for one group.
Tensor repeat_kv(const Tensor& hidden_states, std::int64_t groups);

/// F.scaled_dot_product_attention(q, k, v, is_causal=True) as plain decoders call it.
Tensor causal_sdpa(const nn::ModelContext& context, AttentionCall call);

/// sdpa_attention_forward: [b, s, heads, d], contiguous.
AttentionResult sdpa_attention(const nn::ModelContext& context, AttentionCall call);

/// eager_attention_forward of LLaMA and its relatives: softmax in fp32.
AttentionResult eager_attention_fp32(const nn::ModelContext& context, AttentionCall call);

}  // namespace highwater::models
