// GPT-2: the configuration and its defaults (transformers 5.12, configuration_gpt2.py), restricted
// to the fields that decide allocations.
#pragma once

#include <memory>

#include "workloads/plan/model/families/gpt_fields.hpp"
#include "workloads/plan/model/family.hpp"
#include "workloads/plan/model/megatron_config.hpp"
#include "workloads/plan/model/parameter_count.hpp"
#include "workloads/plan/model/release_profiles.hpp"

namespace highwater {

struct Gpt2Config {
  std::int64_t vocab_size = 50257;
  std::int64_t n_positions = 1024;
  std::int64_t n_embd = 768;
  std::int64_t n_layer = 12;
  std::int64_t n_head = 12;
  std::optional<std::int64_t> n_inner;  ///< absent: 4 * n_embd
  Activation activation_function = Activation::gelu_new;
  double resid_pdrop = 0.1;
  double embd_pdrop = 0.1;
  double attn_pdrop = 0.1;
  bool scale_attn_weights = true;
  bool scale_attn_by_inverse_layer_idx = false;
  bool reorder_and_upcast_attn = false;
  bool tie_word_embeddings = true;

  bool operator==(const Gpt2Config&) const = default;
};

inline constexpr std::array kGpt2Fields = joined(
    kGptFields<Gpt2Config>,
    std::array{
        field<&Gpt2Config::scale_attn_weights>("scale_attn_weights"),
        field<&Gpt2Config::scale_attn_by_inverse_layer_idx>("scale_attn_by_inverse_layer_idx"),
        field<&Gpt2Config::reorder_and_upcast_attn>("reorder_and_upcast_attn")});

const Family& family_of(const Gpt2Config& config);

inline ParameterCount gpt2_parameters(const Gpt2Config& c) {
  const std::int64_t ffn = inner_dim_of(c);
  ParameterCount count = vocabulary_parameters(c.vocab_size, c.n_embd, c.tie_word_embeddings);
  count.embedding += c.n_positions * c.n_embd;
  add_square_layers(count, c.n_layer, c.n_embd, ffn, 2);
  count.bias += c.n_layer * (5 * c.n_embd + ffn);
  count.norm += 2 * c.n_embd;
  return count;
}

/// The classic GPT of Megatron-LM's pretrain_gpt.py: learned positions, LayerNorm, biases, gelu.
inline std::optional<megatron::Config> gpt2_in_megatron(const Gpt2Config& c) {
  return megatron::Config{.layers = c.n_layer,
                          .hidden = c.n_embd,
                          .heads = c.n_head,
                          .kv_heads = c.n_head,
                          .head_dim = c.n_embd / c.n_head,
                          .ffn = inner_dim_of(c),
                          .vocab = c.vocab_size,
                          .positions = c.n_positions,
                          .linear_bias = true,
                          .qkv_bias = true,
                          .tied = c.tie_word_embeddings,
                          .hidden_dropout = c.resid_pdrop,
                          .attention_dropout = c.attn_pdrop};
}

inline constexpr std::array<std::string_view, 1> kGpt2LoraTargets{"c_attn"};

inline constexpr auto kGpt2 =
    family<Gpt2Config>({.name = "gpt2",
                        .class_prefix = "GPT2",
                        .fields = kGpt2Fields,
                        .traits = {.position_table = true, .pipeline_stages = true},
                        .parameters = untyped<gpt2_parameters>,
                        .lora_targets = kGpt2LoraTargets,
                        .releases = kGpt2Releases,
                        .read_more = untyped<refuse_cross_attention<Gpt2Config>>,
                        .to_megatron = untyped<gpt2_in_megatron>});

/// GPT-SW3 is GPT-2 by another name (transformers 5.23, configuration_auto.py).
constexpr FamilyOf<Gpt2Config> gpt_sw3_record() {
  FamilyOf<Gpt2Config> record = kGpt2;
  record.name = "gpt-sw3";
  record.class_prefix = "GPTSw3";
  record.to_megatron = nullptr;
  return record;
}

inline constexpr auto kGptSw3 = gpt_sw3_record();

inline const Family& family_of(const Gpt2Config& /*config*/) {
  return kGpt2;
}

namespace models {
std::unique_ptr<LanguageModel> make_model(nn::ModelContext& context, const Gpt2Config& config);
}

}  // namespace highwater
