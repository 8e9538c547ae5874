#include "workloads/models/decoders/layer_inputs.hpp"

#include <utility>

namespace highwater::models {

TokenEmbedding::TokenEmbedding(Module* parent, const char* name, std::int64_t rows,
                               std::int64_t width, EmbeddingScale scale)
    : Embedding(parent, name, rows, width) {
  if (scale != EmbeddingScale::none) {
    const nn::InModule scope(*this);
    const DType type = scale == EmbeddingScale::integer ? DType::int64 : context().dtype;
    scale_ = eager::empty_on(runtime(), context().place, {}, type);
    register_buffer("embed_scale", scale_);
  }
}

Tensor TokenEmbedding::embed(const Tensor& input_ids) const {
  if (!scale_.defined()) {
    return (*this)(input_ids);
  }
  const eager::Scoped<std::uint32_t> naming(runtime().module, site());  // look_up is the call
  return hooked(scaled(look_up(input_ids)));
}

// The operands of a product are released from the left.
Tensor TokenEmbedding::scaled(Tensor states) const {
  Tensor factor = eager::to_dtype(scale_, weight.dtype());
  Tensor result = eager::mul(states, factor);
  eager::end_of_frame(states, factor);
  return result;
}

std::unique_ptr<TokenEmbedding> make_token_embedding(Module* parent, const LlamaConfig& config) {
  const LlamaCode& code = *config.code;
  const EmbeddingScale scale = !code.has_scaled_embedding ? EmbeddingScale::none
                               : code.has_integer_scale   ? EmbeddingScale::integer
                                                          : EmbeddingScale::number;
  return std::make_unique<TokenEmbedding>(parent, code.embedding_name, config.vocab_size,
                                          config.hidden_size, scale);
}

LayerInputs::LayerInputs(Module* model, const LlamaConfig& config)
    : split_{config.num_hidden_layers, config.layer_input_width},
      table_(model, "embed_tokens_per_layer", config.layer_input_vocab,
             config.num_hidden_layers * config.layer_input_width, EmbeddingScale::number),
      projection_(model, "per_layer_model_projection", config.hidden_size,
                  config.num_hidden_layers * config.layer_input_width, nn::Bias::none),
      norm_(model, "per_layer_projection_norm", config.layer_input_width, config.code->norm) {}

Tensor LayerInputs::operator()(const Tensor& input_ids, const Tensor& inputs_embeds) const {
  const eager::Dims sizes{input_ids.size(0), input_ids.size(1), split_[0], split_[1]};
  Tensor inputs = eager::reshape(table_.embed(input_ids), sizes);
  Tensor projection;
  {
    Tensor wide = projection_(inputs_embeds);
    projection = eager::mul(wide, 1.0);
  }
  projection = eager::reshape(projection, sizes);
  projection = norm_(projection);
  Tensor sum = eager::add(projection, inputs);
  Tensor result = eager::mul(sum, 0.7);
  sum.reset();
  eager::end_of_frame(projection, inputs);
  return result;
}

LayerInputPart::LayerInputPart(Module* block, const LlamaConfig& config)
    : act_fn_(block, "act_fn", config.hidden_act),
      gate_(block, "per_layer_input_gate", config.hidden_size, config.layer_input_width,
            nn::Bias::none),
      projection_(block, "per_layer_projection", config.layer_input_width, config.hidden_size,
                  nn::Bias::none),
      norm_(block, "post_per_layer_input_norm", config.hidden_size, config.code->norm) {}

Tensor LayerInputPart::operator()(Tensor hidden_states, const Tensor& input) const {
  const Tensor residual = hidden_states;
  hidden_states = gate_(hidden_states);
  hidden_states = act_fn_(hidden_states);
  hidden_states = eager::mul(hidden_states, input);
  hidden_states = projection_(hidden_states);
  hidden_states = norm_(hidden_states);
  return eager::add(residual, hidden_states);
}

}  // namespace highwater::models
