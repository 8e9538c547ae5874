// OpenAI GPT, the first: the configuration and its defaults (transformers 5.23,
// configuration_openai.py), restricted to the fields that decide allocations.
#pragma once

#include <memory>

#include "workloads/plan/model/family.hpp"
#include "workloads/plan/model/parameter_count.hpp"

namespace highwater {

struct OpenaiGptConfig {
  std::int64_t vocab_size = 40478;
  std::int64_t n_positions = 512;
  std::int64_t n_embd = 768;
  std::int64_t n_layer = 12;
  std::int64_t n_head = 12;
  Activation afn = Activation::gelu;  ///< which is gelu_new here
  double resid_pdrop = 0.1;
  double embd_pdrop = 0.1;
  double attn_pdrop = 0.1;
  bool tie_word_embeddings = true;

  bool operator==(const OpenaiGptConfig&) const = default;
};

inline constexpr std::array kOpenaiGptFields{
    field<&OpenaiGptConfig::vocab_size>("vocab_size", FieldRole::vocab),
    field<&OpenaiGptConfig::n_positions>("n_positions", FieldRole::max_positions,
                                         {.alias = "max_position_embeddings"}),
    field<&OpenaiGptConfig::n_embd>("n_embd", FieldRole::hidden, {.alias = "hidden_size"}),
    field<&OpenaiGptConfig::n_layer>("n_layer", FieldRole::layers, {.alias = "num_hidden_layers"}),
    field<&OpenaiGptConfig::n_head>("n_head", FieldRole::heads, {.alias = "num_attention_heads"}),
    field<&OpenaiGptConfig::afn>("afn"),
    field<&OpenaiGptConfig::resid_pdrop>("resid_pdrop", FieldRole::residual_dropout),
    field<&OpenaiGptConfig::embd_pdrop>("embd_pdrop", FieldRole::embedding_dropout),
    field<&OpenaiGptConfig::attn_pdrop>("attn_pdrop", FieldRole::attention_dropout),
    field<&OpenaiGptConfig::tie_word_embeddings>("tie_word_embeddings", FieldRole::tied),
};

const Family& family_of(const OpenaiGptConfig& config);

inline ParameterCount openai_gpt_parameters(const OpenaiGptConfig& c) {
  ParameterCount count = vocabulary_parameters(c.vocab_size, c.n_embd, c.tie_word_embeddings);
  count.embedding += c.n_positions * c.n_embd;
  add_square_layers(count, c.n_layer, c.n_embd, 4 * c.n_embd, 2);
  count.bias = c.n_layer * 9 * c.n_embd;
  return count;
}

inline constexpr auto kOpenaiGpt =
    family<OpenaiGptConfig>({.name = "openai-gpt",
                             .class_prefix = "OpenAIGPT",
                             .fields = kOpenaiGptFields,
                             .traits = {.position_table = true,
                                        .sdpa = false,
                                        .attention_function = AttentionFunction::never},
                             .parameters = untyped<openai_gpt_parameters>});

inline const Family& family_of(const OpenaiGptConfig& /*config*/) {
  return kOpenaiGpt;
}

namespace models {
std::unique_ptr<LanguageModel> make_model(nn::ModelContext& context, const OpenaiGptConfig& config);
}

}  // namespace highwater
