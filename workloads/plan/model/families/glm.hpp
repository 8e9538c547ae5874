// GLM-4, GLM-4-0414, Cohere (Command R) and Cohere 2 (transformers 5.23, models/<name>): neighbours
// are turned.
#pragma once

#include "workloads/plan/model/families/decoder_family.hpp"

namespace highwater {

inline constexpr auto kGlmFields = decoder_fields(kAttentionBiasField);

const Family& glm_family();

inline constexpr LlamaCode kGlmCode{
    .family = glm_family,
    .positions = {.rotation = Rotation::partial_pairs},
    .attention = {.projection = {.biases = AttentionBiases::configured_but_output}},
    .mlp = {.kind = MlpKind::fused_gated}};

inline LlamaConfig glm_defaults() {
  return {.code = &kGlmCode,
          .vocab_size = 151552,
          .intermediate_size = 13696,
          .num_hidden_layers = 40,
          .num_key_value_heads = 2,
          .head_dim = 128,
          .max_position_embeddings = 131072,
          .pad_token_id = 151329,
          .rope_parameters = {.partial_rotary_factor = 0.5},
          .attention_bias = true};
}

inline constexpr auto kGlm =
    decoder_family<glm_defaults>(kDecoderRelative, "glm", "GlmFor", kGlmFields);

inline const Family& glm_family() {
  return kGlm;
}

const Family& glm4_family();

constexpr LlamaCode glm4_code() {
  LlamaCode code = kGlmCode;
  code.family = glm4_family;
  code.block.norms.after_attention = "post_self_attn_layernorm";
  code.block.norms.after_mlp = "post_mlp_layernorm";
  return code;
}

inline constexpr LlamaCode kGlm4Code = glm4_code();

inline LlamaConfig glm4_defaults() {
  LlamaConfig config = glm_defaults();
  config.code = &kGlm4Code;
  return config;
}

inline constexpr auto kGlm4 =
    decoder_family<glm4_defaults>(kDecoderRelative, "glm4", "Glm4For", kGlmFields);

inline const Family& glm4_family() {
  return kGlm4;
}

const Family& cohere_family();

inline constexpr LlamaCode kCohereCode{
    .family = cohere_family,
    .positions = {.rotation = Rotation::wide_pairs, .tables = RotaryTables::interleaved},
    .block = {.norm = NormKind::layer_in_steps,
              .norms = {.before_mlp = nullptr},
              .residual = Residual::parallel},
    .attention = {.qk_norm = {.when = QkNorm::per_head,
                              .is_optional = true,
                              .kind = NormKind::layer_in_steps}},
    .head = {.logits = LogitsCode::scaled}};

inline LlamaConfig cohere_defaults() {
  return {.code = &kCohereCode,
          .vocab_size = 256000,
          .hidden_size = 8192,
          .intermediate_size = 22528,
          .num_hidden_layers = 40,
          .num_attention_heads = 64,
          .max_position_embeddings = 8192,
          .pad_token_id = 0,
          .tie_word_embeddings = true};
}

inline constexpr auto kCohereFields =
    decoder_fields(kAttentionBiasField, field<&LlamaConfig::use_qk_norm>("use_qk_norm"));

constexpr Family cohere_record() {
  Family record = kDecoderRelative;
  record.traits.rms_norm = false;
  return record;
}

inline constexpr auto kCohere =
    decoder_family<cohere_defaults>(cohere_record(), "cohere", "CohereFor", kCohereFields);

inline const Family& cohere_family() {
  return kCohere;
}

const Family& cohere2_family();

constexpr LlamaCode cohere2_code() {
  LlamaCode code = kCohereCode;
  code.family = cohere2_family;
  code.windows.layers = WindowedLayers::all_but_nth;
  code.windows.masks = MaskKinds::all;
  code.attention.qk_norm.when = QkNorm::none;
  code.positions.rotated = RotatedLayers::windowed;
  return code;
}

inline constexpr LlamaCode kCohere2Code = cohere2_code();

inline LlamaConfig cohere2_defaults() {
  LlamaConfig config = cohere_defaults();
  config.code = &kCohere2Code;
  config.sliding_window = 4096;
  return config;
}

inline constexpr auto kCohere2Fields = decoder_fields(kAttentionBiasField, kWindowField);

inline constexpr auto kCohere2 =
    decoder_family<cohere2_defaults>(cohere_record(), "cohere2", "Cohere2For", kCohere2Fields);

inline const Family& cohere2_family() {
  return kCohere2;
}

}  // namespace highwater
