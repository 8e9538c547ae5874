// BERT with its masked-language-model head: the configuration and its defaults (transformers 5.12,
// configuration_bert.py), restricted to the fields that decide allocations. An encoder, without
// cross attention, that sees whole sequences.
#pragma once

#include <memory>

#include "workloads/plan/model/family.hpp"
#include "workloads/plan/model/json_fields.hpp"
#include "workloads/plan/model/parameter_count.hpp"

namespace highwater {

struct BertConfig {
  std::int64_t vocab_size = 30522;
  std::int64_t hidden_size = 768;
  std::int64_t num_hidden_layers = 12;
  std::int64_t num_attention_heads = 12;
  std::int64_t intermediate_size = 3072;
  Activation hidden_act = Activation::gelu;
  double hidden_dropout_prob = 0.1;
  double attention_probs_dropout_prob = 0.1;
  std::int64_t max_position_embeddings = 512;
  std::int64_t type_vocab_size = 2;
  bool tie_word_embeddings = true;

  bool operator==(const BertConfig&) const = default;
};

inline constexpr std::array kBertFields{
    field<&BertConfig::vocab_size>("vocab_size", FieldRole::vocab),
    field<&BertConfig::hidden_size>("hidden_size", FieldRole::hidden),
    field<&BertConfig::num_hidden_layers>("num_hidden_layers", FieldRole::layers),
    field<&BertConfig::num_attention_heads>("num_attention_heads", FieldRole::heads),
    field<&BertConfig::intermediate_size>("intermediate_size", FieldRole::ffn),
    field<&BertConfig::hidden_act>("hidden_act"),
    field<&BertConfig::hidden_dropout_prob>("hidden_dropout_prob", FieldRole::residual_dropout),
    field<&BertConfig::attention_probs_dropout_prob>("attention_probs_dropout_prob",
                                                     FieldRole::attention_dropout),
    field<&BertConfig::max_position_embeddings>("max_position_embeddings",
                                                FieldRole::max_positions),
    field<&BertConfig::type_vocab_size>("type_vocab_size", FieldRole::other_size),
    field<&BertConfig::tie_word_embeddings>("tie_word_embeddings", FieldRole::tied),
};

const Family& family_of(const BertConfig& config);

inline ParameterCount bert_parameters(const BertConfig& c) {
  ParameterCount count = vocabulary_parameters(c.vocab_size, c.hidden_size, c.tie_word_embeddings);
  count.embedding += (c.max_position_embeddings + c.type_vocab_size) * c.hidden_size;
  add_square_layers(count, c.num_hidden_layers, c.hidden_size, c.intermediate_size, 2);
  count.linear += c.hidden_size * c.hidden_size;
  count.bias = c.num_hidden_layers * (5 * c.hidden_size + c.intermediate_size) + c.hidden_size +
               (c.tie_word_embeddings ? 1 : 2) * c.vocab_size;
  count.norm += 2 * 2 * c.hidden_size;
  return count;
}

inline constexpr std::array<std::string_view, 2> kBertLoraTargets{"query", "value"};

inline constexpr auto kBert = family<BertConfig>({.name = "bert",
                                                  .class_prefix = "Bert",
                                                  .fields = kBertFields,
                                                  .traits = {.position_table = true},
                                                  .parameters = untyped<bert_parameters>,
                                                  .lora_targets = kBertLoraTargets});

inline const Family& family_of(const BertConfig& /*config*/) {
  return kBert;
}

namespace models {
std::unique_ptr<LanguageModel> make_model(nn::ModelContext& context, const BertConfig& config);
}

}  // namespace highwater
