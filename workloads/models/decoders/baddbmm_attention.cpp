#include "workloads/models/decoders/baddbmm_attention.hpp"

#include <utility>

namespace highwater::models {

BaddbmmAttention::BaddbmmAttention(Module* parent, std::int64_t layer, const LlamaConfig& config)
    : SelfAttention(parent, layer, config), dropout_(config.attention_dropout) {
  if (layer + 1 == config.num_hidden_layers) {
    const nn::InModule scope(*this);
    dense_bias_ = make_parameter("dense_bias", {config.hidden_size});
  }
}

// The variables of _attn die when it returns.
AttentionResult BaddbmmAttention::attend(HeadStates& states, const Tensor& mask) const {
  const Dims sizes = states.query.sizes();
  const Dims flat{sizes[0] * sizes[1], sizes[2], sizes[3]};
  const Tensor query = eager::view(states.query, flat);
  const Tensor key = eager::view(states.key, flat);
  Tensor zeros = eager::empty(runtime(), {flat[0], flat[1], flat[1]}, query.dtype());
  Tensor scores = eager::baddbmm(zeros, query, eager::transpose(key, 1, 2));
  scores = eager::view(scores, {sizes[0], sizes[1], flat[1], flat[1]});
  if (mask.defined()) {
    scores = eager::add(scores, mask);
  }
  Tensor weights = eager::softmax(scores, -1, std::nullopt);
  weights = nn::functional_dropout(context(), weights, dropout_);
  weights = eager::to_dtype(weights, states.value.dtype());
  Tensor output = eager::matmul(weights, states.value);
  eager::end_of_frame(zeros, scores);
  output = eager::contiguous(eager::permute(output, {0, 2, 1, 3}));
  return {std::move(output), std::move(weights)};
}

}  // namespace highwater::models
