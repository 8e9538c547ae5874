// What the configurations of GPT-2, CodeGen, GPT-J and GPTBigCode have in common: the names of
// their sizes, with what transformers' attribute_map also accepts.
#pragma once

#include <array>

#include "workloads/plan/model/config_field.hpp"
#include "workloads/plan/model/family.hpp"
#include "workloads/plan/model/json_fields.hpp"
#include "workloads/plan/model/parameter_count.hpp"

namespace highwater {

template <class Config>
inline constexpr std::array kGptFields{
    field<&Config::vocab_size>("vocab_size", FieldRole::vocab),
    field<&Config::n_positions>("n_positions", FieldRole::max_positions,
                                {.alias = "max_position_embeddings"}),
    field<&Config::n_embd>("n_embd", FieldRole::hidden, {.alias = "hidden_size"}),
    field<&Config::n_layer>("n_layer", FieldRole::layers, {.alias = "num_hidden_layers"}),
    field<&Config::n_head>("n_head", FieldRole::heads, {.alias = "num_attention_heads"}),
    field<&Config::n_inner>("n_inner", FieldRole::ffn),
    field<&Config::activation_function>("activation_function"),
    field<&Config::resid_pdrop>("resid_pdrop", FieldRole::residual_dropout),
    field<&Config::embd_pdrop>("embd_pdrop", FieldRole::embedding_dropout),
    field<&Config::attn_pdrop>("attn_pdrop", FieldRole::attention_dropout),
    field<&Config::tie_word_embeddings>("tie_word_embeddings", FieldRole::tied),
};

/// Width of the MLP.
template <class Config>

requires requires(const Config& config) {
  config.n_inner.value_or(4 * config.n_embd);
}

constexpr std::int64_t inner_dim_of(const Config& config) {
  return config.n_inner.value_or(4 * config.n_embd);
}

template <class Config>
void refuse_cross_attention(Config& /*config*/, JsonFields& fields) {
  bool is_crossed = false;
  fields.read(is_crossed, "add_cross_attention");
  if (is_crossed) {
    fields.add_problem("add_cross_attention", "is true, which is not supported");
  }
}

template <class Config>
inline constexpr std::array kGptJFields =
    joined(kGptFields<Config>,
           std::array{field<&Config::rotary_dim>("rotary_dim", FieldRole::rotary_dim)});

/// One norm before attention and MLP in parallel, a head with bias.
template <class Config>
ParameterCount gptj_parameters(const Config& c) {
  const std::int64_t ffn = inner_dim_of(c);
  ParameterCount count = vocabulary_parameters(c.vocab_size, c.n_embd, c.tie_word_embeddings);
  add_square_layers(count, c.n_layer, c.n_embd, ffn, 1);
  count.bias = c.n_layer * (c.n_embd + ffn) + c.vocab_size;
  count.norm += 2 * c.n_embd;
  return count;
}

}  // namespace highwater
