// Relatives of DeepSeek-V3 (transformers 5.23, models/<name>): GLM-4.7 Flash; Youtu and MiniCPM 3,
// which have no mixtures; DeepSeek-V2.
#pragma once

#include "workloads/plan/model/families/deepseek_v3.hpp"

namespace highwater {

template <DeepseekV3Config (*defaults)()>
constexpr FamilyOf<DeepseekV3Config> deepseek_relative(std::string_view name,
                                                       std::string_view class_prefix) {
  Family record = kDeepseekV3;
  record.name = name;
  record.class_prefix = class_prefix;
  record.read_more = untyped<read_deepseek_relative>;
  return family<DeepseekV3Config>(record, [] { return std::any(defaults()); });
}

const Family& glm4_moe_lite_family();

inline constexpr DeepseekCode kGlm4MoeLiteCode{.family = glm4_moe_lite_family,
                                               .correction = CorrectionType::fp32};

inline DeepseekV3Config glm4_moe_lite_defaults() {
  return {.code = &kGlm4MoeLiteCode,
          .vocab_size = 154880,
          .hidden_size = 2048,
          .intermediate_size = 10240,
          .moe_intermediate_size = 1536,
          .num_hidden_layers = 47,
          .num_attention_heads = 20,
          .num_key_value_heads = 20,
          .n_routed_experts = 64,
          .q_lora_rank = 768,
          .v_head_dim = 256,
          .qk_nope_head_dim = 192,
          .n_group = 1,
          .topk_group = 1,
          .num_experts_per_tok = 4,
          .first_k_dense_replace = 1,
          .max_position_embeddings = 202752};
}

inline constexpr auto kGlm4MoeLite =
    deepseek_relative<glm4_moe_lite_defaults>("glm4_moe_lite", "Glm4MoeLiteFor");

inline const Family& glm4_moe_lite_family() {
  return kGlm4MoeLite;
}

const Family& youtu_family();

inline constexpr DeepseekCode kYoutuCode{.family = youtu_family};

inline DeepseekV3Config youtu_defaults() {
  return {.code = &kYoutuCode,
          .vocab_size = 128256,
          .hidden_size = 2048,
          .intermediate_size = 6144,
          .num_hidden_layers = 32,
          .num_attention_heads = 16,
          .num_key_value_heads = 16,
          .n_shared_experts = 0,
          .n_routed_experts = 0,
          .n_group = 1,
          .topk_group = 1,
          .num_experts_per_tok = 0,
          .first_k_dense_replace = 0,
          .max_position_embeddings = 131072,
          .tie_word_embeddings = true};
}

inline constexpr std::array kYoutuFields = dense_deepseek_fields();

constexpr FamilyOf<DeepseekV3Config> youtu_record() {
  FamilyOf<DeepseekV3Config> record = deepseek_relative<youtu_defaults>("youtu", "YoutuFor");
  record.fields = kYoutuFields;
  return record;
}

inline constexpr auto kYoutu = youtu_record();

inline const Family& youtu_family() {
  return kYoutu;
}

// --- MiniCPM 3: embedding, residuals and last states are multiplied ------------------------------

const Family& minicpm3_family();

constexpr DeepseekCode minicpm3_code() {
  DeepseekCode code{.family = minicpm3_family, .names_normed_latent = true};
  code.frame = kLlamaCode;
  code.frame.embedding.scale = EmbeddingScale::buffer;
  code.frame.block.scale = ResidualScale::part;
  code.frame.head.input = HeadInput::divided_states;
  return code;
}

inline constexpr DeepseekCode kMinicpm3Code = minicpm3_code();

/// The same with an integer as the embedding's factor.
constexpr DeepseekCode minicpm3_integer_code() {
  DeepseekCode code = kMinicpm3Code;
  code.frame.embedding.scale = EmbeddingScale::integer_buffer;
  return code;
}

inline constexpr DeepseekCode kMinicpm3IntegerCode = minicpm3_integer_code();

inline DeepseekV3Config minicpm3_defaults() {
  DeepseekV3Config config = youtu_defaults();
  config.code = &kMinicpm3IntegerCode;
  config.vocab_size = 73448;
  config.hidden_size = 2560;
  config.intermediate_size = 6400;
  config.num_hidden_layers = 62;
  config.num_attention_heads = 40;
  config.num_key_value_heads = 40;
  config.kv_lora_rank = 256;
  config.q_lora_rank = 768;
  config.qk_nope_head_dim = 64;
  config.qk_rope_head_dim = 32;
  config.v_head_dim = 0;  // hidden_size / num_attention_heads
  config.max_position_embeddings = 32768;
  config.rope_interleave = false;
  return config;
}

inline constexpr auto kMinicpm3Fields =
    joined(kYoutuFields, std::array{field<&DeepseekV3Config::mlp_bias>("mlp_bias")});

inline void read_minicpm3(DeepseekV3Config& config, JsonFields& fields) {
  read_deepseek_v3(config, fields);
  const boost::json::value* const factor = fields.find("scale_emb");
  const bool is_integer = factor == nullptr || factor->is_int64();
  config.code = is_integer ? &kMinicpm3IntegerCode : &kMinicpm3Code;
  if (config.v_head_dim == 0 && config.num_attention_heads > 0) {
    config.v_head_dim = config.hidden_size / config.num_attention_heads;
  }
}

constexpr FamilyOf<DeepseekV3Config> minicpm3_record() {
  FamilyOf<DeepseekV3Config> record =
      deepseek_relative<minicpm3_defaults>("minicpm3", "MiniCPM3For");
  record.fields = kMinicpm3Fields;
  record.traits.scaled_embedding = true;
  record.read_more = untyped<read_minicpm3>;
  return record;
}

inline constexpr auto kMinicpm3 = minicpm3_record();

inline const Family& minicpm3_family() {
  return kMinicpm3;
}

// --- DeepSeek-V2: complex rotary tables, a softmax gate ------------------------------------------

const Family& deepseek_v2_family();

constexpr DeepseekCode deepseek_v2_code() {
  DeepseekCode code{.family = deepseek_v2_family,
                    .rotation = LatentRotation::complex_numbers,
                    .gate = LatentGate::softmax,
                    .names_normed_latent = true};
  code.frame = kLlamaCode;
  code.frame.positions.tables = RotaryTables::complex_numbers;
  return code;
}

inline constexpr DeepseekCode kDeepseekV2Code = deepseek_v2_code();

inline DeepseekV3Config deepseek_v2_defaults() {
  return {.code = &kDeepseekV2Code,
          .vocab_size = 102400,
          .hidden_size = 4096,
          .intermediate_size = 11008,
          .moe_intermediate_size = 1407,
          .num_hidden_layers = 32,
          .num_attention_heads = 32,
          .num_key_value_heads = std::nullopt,
          .n_shared_experts = 2,
          .n_routed_experts = 64,
          .n_group = std::nullopt,
          .topk_group = std::nullopt,
          .num_experts_per_tok = 0,
          .first_k_dense_replace = 0,
          .norm_topk_prob = false,
          .max_position_embeddings = 2048};
}

/// The fields of DeepSeek-V3, but groups may be null.
constexpr auto deepseek_v2_fields() {
  auto fields =
      joined(kDeepseekV3Fields, std::array{field<&DeepseekV3Config::mlp_bias>("mlp_bias")});
  for (ConfigField& each : fields) {
    each.details.null_clears |= each.name.ends_with("_group");
  }
  return fields;
}

inline constexpr auto kDeepseekV2Fields = deepseek_v2_fields();

inline void read_deepseek_v2(DeepseekV3Config& config, JsonFields& fields) {
  read_deepseek_v3(config, fields);
  const std::string method = fields.text("topk_method");
  config.limits_groups = method == "group_limited_greedy";
  if (!config.limits_groups && !method.empty() && method != "greedy") {
    fields.add_gap("topk_method", "is neither 'greedy' nor 'group_limited_greedy'");
  }
}

constexpr FamilyOf<DeepseekV3Config> deepseek_v2_record() {
  FamilyOf<DeepseekV3Config> record =
      deepseek_relative<deepseek_v2_defaults>("deepseek_v2", "DeepseekV2");
  record.fields = kDeepseekV2Fields;
  record.read_more = untyped<read_deepseek_v2>;
  return record;
}

inline constexpr auto kDeepseekV2 = deepseek_v2_record();

inline const Family& deepseek_v2_family() {
  return kDeepseekV2;
}

}  // namespace highwater
