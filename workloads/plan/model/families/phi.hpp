// Phi, Phi-3 and 4, StableLM, Nemotron, Jais 2, StarCoder 2 and GPT-NeoX (transformers
// 5.23, models/<name>): plain feed-forward parts, LayerNorms, rotations of a head's first columns,
// parallel blocks, fused projections.
#pragma once

#include "workloads/plan/model/families/decoder_family.hpp"

namespace highwater {

constexpr Family layer_norm_record() {
  Family record = kDecoderRelative;
  record.traits.rms_norm = false;
  return record;
}

constexpr Family plain_mlp_record() {
  Family record = layer_norm_record();
  record.traits.gated_mlp = false;
  return record;
}

/// One key that is the dropout of the embedding and of both parts of a block.
inline constexpr ConfigField kHiddenDropoutOfEmbedding =
    field<&LlamaConfig::embedding_dropout>("hidden_dropout", FieldRole::embedding_dropout);
inline constexpr ConfigField kHiddenDropout =
    field<&LlamaConfig::residual_dropout>("hidden_dropout", FieldRole::residual_dropout);

// --- Phi -----------------------------------------------------------------------------------------

const Family& phi_family();

inline constexpr LlamaCode kPhiCode{
    .family = phi_family,
    .positions = {.order = PositionOrder::ids_first, .rotation = Rotation::partial_outside},
    .block = {.norm = NormKind::layer,
              .norms = {.before_mlp = nullptr},
              .residual = Residual::parallel_last},
    .attention = {.projection = {.output_name = "dense"},
                  .qk_norm = {.when = QkNorm::before_rotation,
                              .is_optional = true,
                              .kind = NormKind::layer,
                              .query_name = "q_layernorm",
                              .key_name = "k_layernorm"}},
    .mlp = {.kind = MlpKind::plain, .widen_name = "fc1", .narrow_name = "fc2"},
    .last_norm = {.name = "final_layernorm", .made = LastNormMade::behind_tables},
    .head = {.has_bias = true}};

inline LlamaConfig phi_defaults() {
  return {.code = &kPhiCode,
          .vocab_size = 51200,
          .hidden_size = 2048,
          .intermediate_size = 8192,
          .num_hidden_layers = 24,
          .hidden_act = Activation::gelu_new,
          .rope_parameters = {.partial_rotary_factor = 0.5},
          .attention_bias = true,
          .mlp_bias = true};
}

inline constexpr auto kPhiFields = decoder_fields(
    field<&LlamaConfig::use_qk_norm>("qk_layernorm"),
    field<&LlamaConfig::residual_dropout>("resid_pdrop", FieldRole::residual_dropout),
    field<&LlamaConfig::embedding_dropout>("embd_pdrop", FieldRole::embedding_dropout));

inline constexpr std::array<std::string_view, 4> kPhiLoraTargets{"q_proj", "v_proj", "fc1", "fc2"};

constexpr Family phi_record() {
  Family record = plain_mlp_record();
  record.lora_targets = kPhiLoraTargets;
  return record;
}

inline constexpr auto kPhi =
    decoder_family<phi_defaults>(phi_record(), "phi", "PhiFor", kPhiFields);

inline const Family& phi_family() {
  return kPhi;
}

// --- Phi-3 and Phi-4 -----------------------------------------------------------------------------

const Family& phi3_family();

inline constexpr LlamaCode kPhi3Code{
    .family = phi3_family,
    .windows = {.layers = WindowedLayers::all},
    .positions = {.order = PositionOrder::ids_first, .rotation = Rotation::partial_joined},
    .attention = {.projection = {.qkv = QkvProjection::columns, .output_made = OutputMade::first}},
    .mlp = {.kind = MlpKind::fused_gated}};

inline LlamaConfig phi3_defaults() {
  return {.code = &kPhi3Code,
          .vocab_size = 32064,
          .hidden_size = 3072,
          .intermediate_size = 8192,
          .max_position_embeddings = 4096,
          .pad_token_id = 32000};
}

inline constexpr auto kPhi3Fields = decoder_fields(
    kWindowField,
    field<&LlamaConfig::residual_dropout>("resid_pdrop", FieldRole::residual_dropout));

inline constexpr auto kPhi3 =
    decoder_family<phi3_defaults>(kDecoderRelative, "phi3", "Phi3For", kPhi3Fields);

inline const Family& phi3_family() {
  return kPhi3;
}

// --- StableLM ------------------------------------------------------------------------------------

const Family& stablelm_family();

inline constexpr LlamaCode kStablelmCode{
    .family = stablelm_family,
    .positions = {.order = PositionOrder::ids_first, .rotation = Rotation::partial_outside},
    .block = {.norm = NormKind::layer, .residual = Residual::kept_attention},
    .attention = {.projection = {.biases = AttentionBiases::configured_but_output,
                                 .heads = HeadsViewed::together}}};

inline LlamaConfig stablelm_defaults() {
  return {.code = &kStablelmCode,
          .vocab_size = 50304,
          .hidden_size = 2560,
          .intermediate_size = 6912,
          .num_key_value_heads = 32,
          .max_position_embeddings = 4096,
          .rope_parameters = {.partial_rotary_factor = 0.25}};
}

inline constexpr auto kStablelmFields = decoder_fields(
    field<&LlamaConfig::attention_bias>("use_qkv_bias"),
    field<&LlamaConfig::use_qk_norm>("qk_layernorm"),
    field<&LlamaConfig::use_parallel_residual>("use_parallel_residual"), kHiddenDropout);

inline void stablelm_gaps(const LlamaConfig& config, ModelProblems& problems) {
  if (config.use_qk_norm) {
    problems.add("qk_layernorm is true; StableLM's norms of single heads are not simulated");
  }
}

constexpr Family stablelm_record() {
  Family record = layer_norm_record();
  record.lora_targets = kRopeDecoderLoraTargets;
  record.gaps = untyped<stablelm_gaps>;
  return record;
}

inline constexpr auto kStablelm = decoder_family<stablelm_defaults>(stablelm_record(), "stablelm",
                                                                    "StableLmFor", kStablelmFields);

inline const Family& stablelm_family() {
  return kStablelm;
}

// --- Nemotron and Jais 2 -------------------------------------------------------------------------

const Family& nemotron_family();

inline constexpr LlamaCode kNemotronCode{
    .family = nemotron_family,
    .positions = {.order = PositionOrder::ids_first, .rotation = Rotation::partial_return},
    .block = {.norm = NormKind::layer_1p},
    .mlp = {.kind = MlpKind::plain}};

inline LlamaConfig nemotron_defaults() {
  return {.code = &kNemotronCode,
          .vocab_size = 256000,
          .hidden_size = 6144,
          .intermediate_size = 24576,
          .num_attention_heads = 48,
          .num_key_value_heads = 48,
          .hidden_act = Activation::relu2,
          .max_position_embeddings = 4096,
          .rope_parameters = {.partial_rotary_factor = 0.5}};
}

inline constexpr auto kPlainBiasedFields = decoder_fields(kAttentionBiasField, kMlpBiasField);

inline constexpr auto kNemotron = decoder_family<nemotron_defaults>(
    plain_mlp_record(), "nemotron", "NemotronFor", kPlainBiasedFields);

inline const Family& nemotron_family() {
  return kNemotron;
}

const Family& jais2_family();

inline constexpr LlamaCode kJais2Code{
    .family = jais2_family, .block = {.norm = NormKind::layer}, .mlp = {.kind = MlpKind::plain}};

inline LlamaConfig jais2_defaults() {
  return {.code = &kJais2Code,
          .vocab_size = 150272,
          .hidden_size = 3328,
          .intermediate_size = 26624,
          .num_attention_heads = 26,
          .hidden_act = Activation::relu2,
          .max_position_embeddings = 8192,
          .attention_bias = true,
          .mlp_bias = true};
}

inline constexpr auto kJais2 =
    decoder_family<jais2_defaults>(plain_mlp_record(), "jais2", "Jais2For", kPlainBiasedFields);

inline const Family& jais2_family() {
  return kJais2;
}

// --- StarCoder 2 ---------------------------------------------------------------------------------

const Family& starcoder2_family();

inline constexpr LlamaCode kStarcoder2Code{
    .family = starcoder2_family,
    .embedding = {.dropout = DropoutName::hidden_states},
    .windows = {.layers = WindowedLayers::all},
    .positions = {.order = PositionOrder::ids_first},
    .block = {.norm = NormKind::layer, .dropout = ResidualDropout::ends_the_part},
    .mlp = {.kind = MlpKind::plain, .widen_name = "c_fc", .narrow_name = "c_proj"}};

inline LlamaConfig starcoder2_defaults() {
  return {.code = &kStarcoder2Code,
          .vocab_size = 49152,
          .hidden_size = 3072,
          .intermediate_size = 12288,
          .num_hidden_layers = 30,
          .num_attention_heads = 24,
          .num_key_value_heads = 2,
          .hidden_act = Activation::gelu_pytorch_tanh,
          .max_position_embeddings = 4096,
          .tie_word_embeddings = true,
          .attention_bias = true,
          .mlp_bias = true};
}

inline constexpr auto kStarcoder2Fields = decoder_fields(
    kWindowField, field<&LlamaConfig::attention_bias>("use_bias"),
    field<&LlamaConfig::mlp_bias>("use_bias"),
    field<&LlamaConfig::residual_dropout>("residual_dropout", FieldRole::residual_dropout),
    field<&LlamaConfig::embedding_dropout>("embedding_dropout", FieldRole::embedding_dropout));

inline constexpr auto kStarcoder2 = decoder_family<starcoder2_defaults>(
    plain_mlp_record(), "starcoder2", "Starcoder2For", kStarcoder2Fields);

inline const Family& starcoder2_family() {
  return kStarcoder2;
}

}  // namespace highwater
