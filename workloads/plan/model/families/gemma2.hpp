// Gemma 2, Gemma 3 and 4 (their text models) and VaultGemma (transformers 5.23, models/<name>):
// norms on both sides of each part, every second or sixth layer without a window, soft caps.
#pragma once

#include "workloads/plan/model/families/decoder_family.hpp"

namespace highwater {

inline constexpr BlockNorms kNormsAround{.after_attention = "post_attention_layernorm",
                                         .before_mlp = "pre_feedforward_layernorm",
                                         .after_mlp = "post_feedforward_layernorm"};

const Family& gemma2_family();

inline constexpr LlamaCode kGemma2Code{
    .family = gemma2_family,
    .embedding = {.scale = EmbeddingScale::buffer},
    .windows = {.layers = WindowedLayers::all_but_nth, .pattern = 2, .masks = MaskKinds::all},
    .block = {.norm = NormKind::gemma, .norms = kNormsAround},
    .head = {.logits = LogitsCode::soft_capped}};

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
  code.block.norms = {.before_mlp = "pre_feedforward_layernorm"};
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
  code.windows.pattern = 6;
  code.attention.qk_norm.when = QkNorm::before_rotation;
  code.attention.qk_norm.kind = NormKind::gemma;
  code.positions.tables = RotaryTables::per_kind;
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

// --- Gemma 4: norms of values, wider heads without a window, an input for each layer -------------

const Family& gemma4_text_family();

inline constexpr LlamaCode kGemma4TextCode{
    .family = gemma4_text_family,
    .embedding = {.scale = EmbeddingScale::buffer},
    .windows = {.layers = WindowedLayers::all_but_nth, .pattern = 6, .masks = MaskKinds::all},
    .positions = {.tables = RotaryTables::per_kind},
    .block = {.norm = NormKind::power, .norms = kNormsAround, .has_scalar = true},
    .attention = {.kind = AttentionKind::normed_values,
                  .qk_norm = {.when = QkNorm::before_rotation, .kind = NormKind::power}},
    .head = {.logits = LogitsCode::soft_capped}};

inline LlamaConfig gemma4_text_defaults() {
  return {.code = &kGemma4TextCode,
          .vocab_size = 262144,
          .hidden_size = 2304,
          .intermediate_size = 9216,
          .num_hidden_layers = 30,
          .num_attention_heads = 8,
          .num_key_value_heads = 4,
          .head_dim = 256,
          .hidden_act = Activation::gelu_pytorch_tanh,
          .max_position_embeddings = 131072,
          .pad_token_id = 0,
          .tie_word_embeddings = true,
          .rope_parameters = {.rope_type = RopeType::proportional, .partial_rotary_factor = 0.25},
          .sliding_window = 512,
          .global_head_dim = 512,
          .layer_input_width = 256,
          .layer_input_vocab = 262144};
}

inline constexpr auto kGemma4Fields =
    joined(kGemma2Fields, std::array{field<&LlamaConfig::global_head_dim>("global_head_dim")});

inline constexpr auto kGemma4TextFields =
    joined(kGemma4Fields,
           std::array{field<&LlamaConfig::layer_input_width>("hidden_size_per_layer_input"),
                      field<&LlamaConfig::layer_input_vocab>("vocab_size_per_layer_input")});

/// What the generator lacks of Gemma 4.
inline void find_gemma4_gaps(JsonFields& fields) {
  for (const char* const key : {"attention_k_eq_v", "enable_moe_block"}) {
    bool is_on = false;
    fields.read(is_on, key);
    if (is_on) {
      fields.add_gap(key, "is true, which is not simulated");
    }
  }
  std::int64_t shared = 0;
  fields.read(shared, "num_kv_shared_layers");
  if (shared != 0) {
    fields.add_gap("num_kv_shared_layers", "is not 0; shared keys and values are not simulated");
  }
}

/// Files of transformers 5.23 have what differs by layer in `per_layer_config`.
inline void read_global_head_dim(LlamaConfig& config, JsonFields& fields) {
  const boost::json::value* const layers = fields.find("per_layer_config");
  if (layers == nullptr || !layers->is_object()) {
    return;
  }
  for (const auto& [layer, changes] : layers->get_object()) {
    if (const auto* const object = changes.if_object(); object != nullptr) {
      if (const auto* const width = object->if_contains("head_dim"); width != nullptr) {
        config.global_head_dim = width->to_number<std::int64_t>();
      }
    }
  }
}

inline void read_gemma4(LlamaConfig& config, JsonFields& fields) {
  read_layer_types(config, fields);
  read_global_head_dim(config, fields);
  read_cap(config.final_logit_softcapping, "final_logit_softcapping", fields);
  find_gemma4_gaps(fields);
  if (auto kinds = fields.child("rope_parameters")) {
    if (auto full = kinds->child("full_attention")) {
      full->read(config.rope_parameters.partial_rotary_factor, "partial_rotary_factor");
    }
  }
  if (config.sliding_layers.empty()) {
    for (std::int64_t layer = 1; layer <= config.num_hidden_layers; ++layer) {
      config.sliding_layers.push_back(layer % 6 != 0);
    }
  }
  if (!config.sliding_layers.empty()) {
    config.sliding_layers.back() = false;  // which transformers forces
  }
}

constexpr Family gemma4_record() {
  Family record = gemma3_record();
  record.read_more = untyped<read_gemma4>;
  record.write_more = nullptr;
  return record;
}

inline constexpr auto kGemma4Text = decoder_family<gemma4_text_defaults>(
    gemma4_record(), "gemma4_text", "Gemma4ForCausal", kGemma4TextFields);

inline const Family& gemma4_text_family() {
  return kGemma4Text;
}

const Family& gemma4_unified_text_family();

constexpr LlamaCode gemma4_unified_text_code() {
  LlamaCode code = kGemma4TextCode;
  code.family = gemma4_unified_text_family;
  return code;
}

inline constexpr LlamaCode kGemma4UnifiedTextCode = gemma4_unified_text_code();

inline LlamaConfig gemma4_unified_text_defaults() {
  LlamaConfig config = gemma4_text_defaults();
  config.code = &kGemma4UnifiedTextCode;
  config.max_position_embeddings = 262144;
  config.sliding_window = 1024;
  config.layer_input_width = 0;
  config.layer_input_vocab = 0;
  return config;
}

inline constexpr auto kGemma4UnifiedText = decoder_family<gemma4_unified_text_defaults>(
    gemma4_record(), "gemma4_unified_text", "Gemma4UnifiedForCausal", kGemma4Fields);

inline const Family& gemma4_unified_text_family() {
  return kGemma4UnifiedText;
}

}  // namespace highwater
