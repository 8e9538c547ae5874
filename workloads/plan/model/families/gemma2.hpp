// Gemma 2, Gemma 3 (its text model) and VaultGemma (transformers 5.23, models/<name>): norms on
// both sides of each part, every second or sixth layer without a window, soft caps.
#pragma once

#include "workloads/plan/model/families/decoder_family.hpp"

namespace highwater {

inline constexpr BlockNorms kNormsAround{.after_attention = "post_attention_layernorm",
                                         .before_mlp = "pre_feedforward_layernorm",
                                         .after_mlp = "post_feedforward_layernorm"};

const Family& gemma2_family();

inline constexpr LlamaCode kGemma2Code{.family = gemma2_family,
                                       .windows = WindowedLayers::all_but_nth,
                                       .window_pattern = 2,
                                       .has_mask_per_kind = true,
                                       .makes_unused_masks = true,
                                       .has_scaled_embedding = true,
                                       .norm = NormKind::gemma,
                                       .norms = kNormsAround,
                                       .logits = LogitsCode::soft_capped};

inline LlamaConfig gemma2_defaults() {
  return {.code = &kGemma2Code,
          .vocab_size = 256000,
          .hidden_size = 2304,
          .intermediate_size = 9216,
          .num_hidden_layers = 26,
          .num_attention_heads = 8,
          .num_key_value_heads = 4,
          .head_dim = 256,
          .hidden_act = Activation::gelu_pytorch_tanh,
          .max_position_embeddings = 8192,
          .pad_token_id = 0,
          .tie_word_embeddings = true,
          .sliding_window = 4096,
          .final_logit_softcapping = 30.0,
          .attn_logit_softcapping = 50.0};
}

inline constexpr auto kGemma2Fields = decoder_fields(
    kAttentionBiasField, kWindowField, field<&LlamaConfig::hidden_act>("hidden_activation"));

/// Null switches a cap off.
inline void read_cap(std::optional<double>& cap, std::string_view key, JsonFields& fields) {
  if (fields.is_null(key)) {
    cap.reset();
  }
  fields.read(cap, key);
}

inline void read_gemma2(LlamaConfig& config, JsonFields& fields) {
  read_decoder(config, fields);
  read_cap(config.final_logit_softcapping, "final_logit_softcapping", fields);
  read_cap(config.attn_logit_softcapping, "attn_logit_softcapping", fields);
}

constexpr Family gemma2_record() {
  Family record = kDecoderRelative;
  record.traits.scaled_embedding = true;
  record.traits.sdpa = false;  // sdpa does not support soft caps
  record.lora_targets = kRopeDecoderLoraTargets;
  record.read_more = untyped<read_gemma2>;
  return record;
}

inline constexpr auto kGemma2 =
    decoder_family<gemma2_defaults>(gemma2_record(), "gemma2", "Gemma2For", kGemma2Fields);

inline const Family& gemma2_family() {
  return kGemma2;
}

const Family& vaultgemma_family();

constexpr LlamaCode vaultgemma_code() {
  LlamaCode code = kGemma2Code;
  code.family = vaultgemma_family;
  code.norms = {.before_mlp = "pre_feedforward_layernorm"};
  return code;
}

inline constexpr LlamaCode kVaultgemmaCode = vaultgemma_code();

inline LlamaConfig vaultgemma_defaults() {
  LlamaConfig config = gemma2_defaults();
  config.code = &kVaultgemmaCode;
  return config;
}

inline constexpr auto kVaultgemma = decoder_family<vaultgemma_defaults>(
    gemma2_record(), "vaultgemma", "VaultGemmaFor", kGemma2Fields);

inline const Family& vaultgemma_family() {
  return kVaultgemma;
}

const Family& gemma3_family();

constexpr LlamaCode gemma3_code() {
  LlamaCode code = kGemma2Code;
  code.family = gemma3_family;
  code.window_pattern = 6;
  code.qk_norm = QkNorm::before_rotation;
  code.qk_norm_kind = NormKind::gemma;
  code.tables = RotaryTables::per_kind;
  return code;
}

inline constexpr LlamaCode kGemma3Code = gemma3_code();

inline LlamaConfig gemma3_defaults() {
  LlamaConfig config = gemma2_defaults();
  config.code = &kGemma3Code;
  config.vocab_size = 262208;
  config.max_position_embeddings = 131072;
  config.final_logit_softcapping.reset();
  config.attn_logit_softcapping.reset();
  return config;
}

constexpr Family gemma3_record() {
  Family record = gemma2_record();
  record.traits.sdpa = true;
  return record;
}

inline constexpr auto kGemma3 = decoder_family<gemma3_defaults>(gemma3_record(), "gemma3_text",
                                                                "Gemma3ForCausal", kGemma2Fields);

inline const Family& gemma3_family() {
  return kGemma3;
}

}  // namespace highwater
