// What CodeGen's configuration shares with GPT-J's, whose decoder it copies.
#pragma once

#include "workloads/plan/model/families/gpt_fields.hpp"
#include "workloads/plan/model/family.hpp"
#include "workloads/plan/model/parameter_count.hpp"

namespace highwater {

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
