// Gemma: defaults and code of transformers 5.12 (models/gemma); the rest is LLaMA's.
#pragma once

#include "workloads/plan/model/families/llama.hpp"

namespace highwater {

const Family& gemma_family();

inline constexpr LlamaCode kGemmaCode{.family = gemma_family,
                                      .embedding = {.scale = EmbeddingScale::buffer},
                                      .positions = {.order = PositionOrder::ids_first},
                                      .block = {.norm = NormKind::gemma}};

inline constexpr std::array kGemmaFields =
    joined(kRopeDecoderFields<LlamaConfig>, std::array{kAttentionBiasField});

inline LlamaConfig gemma_defaults() {
  return {.code = &kGemmaCode,
          .vocab_size = 256000,
          .hidden_size = 3072,
          .intermediate_size = 24576,
          .num_hidden_layers = 28,
          .num_attention_heads = 16,
          .num_key_value_heads = 16,
          .head_dim = 256,
          .hidden_act = Activation::gelu_pytorch_tanh,
          .max_position_embeddings = 8192,
          .pad_token_id = 0,
          .tie_word_embeddings = true};
}

constexpr Family gemma_record() {
  Family record = kLlamaRelative;
  record.name = "gemma";
  record.class_prefix = "GemmaFor";
  record.fields = kGemmaFields;
  record.traits.scaled_embedding = true;
  return record;
}

inline constexpr auto kGemma =
    family<LlamaConfig>(gemma_record(), [] { return std::any(gemma_defaults()); });

inline const Family& gemma_family() {
  return kGemma;
}

}  // namespace highwater
