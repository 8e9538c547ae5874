#include "workloads/models/decoders/token_embedding.hpp"

#include <utility>

namespace highwater::models {

TokenEmbedding::TokenEmbedding(Module* parent, const char* name, std::int64_t rows,
                               std::int64_t width, EmbeddingScale scale)
    : Embedding(parent, name, rows, width) {
  const bool is_integer = scale == EmbeddingScale::integer_buffer;
  if (is_integer || scale == EmbeddingScale::buffer) {
    const nn::InModule scope(*this);
    const DType type = is_integer ? DType::int64 : context().dtype;
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
  const EmbeddingCode& code = config.code->embedding;
  return std::make_unique<TokenEmbedding>(parent, code.name, config.vocab_size, config.hidden_size,
                                          code.scale);
}

Tensor scaled_in_step(EmbeddingScale step, const LlamaConfig& config, const Tensor& states) {
  return config.code->embedding.scale == step ? eager::mul(states, 1.0) : states;
}

}  // namespace highwater::models
