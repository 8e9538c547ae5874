// GPTBigCode (SantaCoder, StarCoder): the configuration and its defaults (transformers 5.12,
// configuration_gpt_bigcode.py), restricted to the fields that decide allocations.
#pragma once

#include <memory>

#include "workloads/plan/model/families/gpt_fields.hpp"
#include "workloads/plan/model/family.hpp"
#include "workloads/plan/model/json_fields.hpp"
#include "workloads/plan/model/model_spec.hpp"
#include "workloads/plan/model/parameter_count.hpp"
#include "workloads/plan/model/release_profiles.hpp"

namespace highwater {

struct GptBigCodeConfig {
  std::int64_t vocab_size = 50257;
  std::int64_t n_positions = 1024;
  std::int64_t n_embd = 768;
  std::int64_t n_layer = 12;
  std::int64_t n_head = 12;
  std::optional<std::int64_t> n_inner;  ///< absent: 4 * n_embd
  Activation activation_function = Activation::gelu_pytorch_tanh;
  double resid_pdrop = 0.1;
  double embd_pdrop = 0.1;
  double attn_pdrop = 0.1;
  bool scale_attn_weights = true;
  bool attention_softmax_in_fp32 = true;
  bool scale_attention_softmax_in_fp32 = true;
  bool multi_query = true;
  bool tie_word_embeddings = true;

  bool operator==(const GptBigCodeConfig&) const = default;
};

constexpr std::int64_t kv_heads_of(const GptBigCodeConfig& config) {
  return config.multi_query ? 1 : config.n_head;
}

inline constexpr std::array kGptBigCodeFields = joined(
    kGptFields<GptBigCodeConfig>,
    std::array{field<&GptBigCodeConfig::scale_attn_weights>("scale_attn_weights"),
               field<&GptBigCodeConfig::attention_softmax_in_fp32>("attention_softmax_in_fp32"),
               field<&GptBigCodeConfig::scale_attention_softmax_in_fp32>(
                   "scale_attention_softmax_in_fp32"),
               field<&GptBigCodeConfig::multi_query>("multi_query")});

const Family& family_of(const GptBigCodeConfig& config);

inline void complete_gpt_bigcode_shape(const GptBigCodeConfig& config, ModelShape& shape) {
  shape.kv_heads = kv_heads_of(config);
}

inline void read_flat_gpt_bigcode(GptBigCodeConfig& config, JsonFields& fields) {
  std::int64_t kv_heads = 1;
  fields.read(kv_heads, "kv_heads");
  config.multi_query = kv_heads != config.n_head;
}

inline ParameterCount gpt_bigcode_parameters(const GptBigCodeConfig& c) {
  const std::int64_t ffn = inner_dim_of(c);
  const std::int64_t qkv = c.n_embd + 2 * kv_heads_of(c) * (c.n_embd / c.n_head);
  ParameterCount count = vocabulary_parameters(c.vocab_size, c.n_embd, c.tie_word_embeddings);
  count.embedding += c.n_positions * c.n_embd;
  count.linear += c.n_layer * (c.n_embd * (qkv + c.n_embd) + 2 * c.n_embd * ffn);
  count.bias = c.n_layer * (qkv + 2 * c.n_embd + ffn);
  count.norm = (2 * c.n_layer + 1) * 2 * c.n_embd;
  return count;
}

inline constexpr std::array<std::string_view, 1> kGptBigCodeLoraTargets{"c_attn"};

inline constexpr auto kGptBigCode =
    family<GptBigCodeConfig>({.name = "gpt_bigcode",
                              .class_prefix = "GPTBigCode",
                              .fields = kGptBigCodeFields,
                              .traits = {.position_table = true},
                              .parameters = untyped<gpt_bigcode_parameters>,
                              .lora_targets = kGptBigCodeLoraTargets,
                              .releases = kOptReleases,
                              .complete_shape = untyped<complete_gpt_bigcode_shape>,
                              .read_more = untyped<refuse_cross_attention<GptBigCodeConfig>>,
                              .read_more_flat = untyped<read_flat_gpt_bigcode>});

inline const Family& family_of(const GptBigCodeConfig& /*config*/) {
  return kGptBigCode;
}

namespace models {
std::unique_ptr<LanguageModel> make_model(nn::ModelContext& context,
                                          const GptBigCodeConfig& config);
}

}  // namespace highwater
