#include "workloads/models/bart_attention.hpp"

#include "workloads/models/attention.hpp"

namespace highwater::models {

BartAttention::BartAttention(Module* parent, const BartAttentionConfig& config)
    : Module(parent, "self_attn"),
      config_(config),
      k_proj_(this, "k_proj", config.hidden_size, config.hidden_size, nn::bias_if(config.has_bias)),
      v_proj_(this, "v_proj", config.hidden_size, config.hidden_size, nn::bias_if(config.has_bias)),
      q_proj_(this, "q_proj", config.hidden_size, config.hidden_size, nn::bias_if(config.has_bias)),
      out_proj_(this, "out_proj", config.hidden_size, config.hidden_size,
                nn::bias_if(config.has_bias)) {}

AttentionResult BartAttention::operator()(Tensor hidden_states, const Tensor& mask,
                                          const nn::CachePtr& cache) const {
  const nn::InModule scope(*this);
  Tensor query = q_proj_(hidden_states);
  if (config_.scales_query) {
    query = eager::mul(query, 1.0);
  }
  query = heads(query);
  Tensor key = k_proj_(hidden_states);
  Tensor value = v_proj_(hidden_states);
  key = heads(key);
  value = heads(value);
  if (cache) {
    cache->update(key, value);
  }
  AttentionResult result = attend(query, key, value, mask);
  const auto& sizes = hidden_states.sizes();
  result.output = eager::contiguous(eager::reshape(result.output, {sizes[0], sizes[1], -1}));
  result.output = out_proj_(result.output);
  eager::end_of_frame(hidden_states, query, key, value);
  return result;
}

Tensor BartAttention::heads(const Tensor& states) const {
  const auto head_dim = config_.hidden_size / config_.heads;
  return eager::transpose(
      eager::view(states, {states.size(0), states.size(1), config_.heads, head_dim}), 1, 2);
}

AttentionResult BartAttention::attend(const Tensor& query, const Tensor& key, const Tensor& value,
                                      const Tensor& mask) const {
  const double dropout = context().training ? context().dropout(config_.dropout) : 0.0;
  if (context().is_eager()) {
    return core_attention(
        context(), {.query = query, .key = key, .value = value, .mask = mask, .dropout = dropout},
        [this](const AttentionCall& call) {
          return attend_eagerly(call.query, call.key, call.value, call.mask, call.dropout);
        });
  }
  return sdpa_attention(
      context(), {.query = query, .key = key, .value = value, .mask = mask, .dropout = dropout});
}

AttentionResult BartAttention::attend_eagerly(const Tensor& query, const Tensor& key,
                                              const Tensor& value, const Tensor& mask,
                                              double dropout) const {
  Tensor weights = eager::matmul(query, eager::transpose(key, 2, 3));
  weights = eager::mul(weights, 1.0);
  if (mask.defined()) {
    weights = eager::add(weights, mask);
  }
  if (config_.fp32_softmax) {
    Tensor wide = eager::softmax(weights, -1, DType::fp32);
    Tensor narrow = eager::to_dtype(wide, query.dtype());
    wide.reset();
    weights = std::move(narrow);
  } else {
    weights = eager::softmax(weights, -1, std::nullopt);
  }
  weights = nn::plain_dropout(context(), weights, dropout);
  Tensor output = eager::matmul(weights, value);
  output = eager::contiguous(eager::transpose(output, 1, 2));
  return {output, weights};
}

Tensor OffsetPositionalEmbedding::operator()(Tensor position_ids) const {
  const nn::InModule scope(*this);
  return look_up(eager::add(position_ids, static_cast<double>(kOffset)));
}

Tensor mask_of_ones(const Tensor& inputs_embeds) {
  eager::Runtime& runtime = inputs_embeds.runtime();
  const eager::OpScope op(runtime, "ones");
  return eager::empty(runtime, {inputs_embeds.size(0), inputs_embeds.size(1)}, DType::fp32);
}

}  // namespace highwater::models
