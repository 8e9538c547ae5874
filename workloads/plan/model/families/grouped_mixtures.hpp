// Decoders of LLaMA's kind with DeepSeek-V3's mixture (transformers 5.23, models/<name>): dots.1,
// GLM-4 MoE, Solar Open.
#pragma once

#include "workloads/plan/model/families/mixtures.hpp"

namespace highwater {

inline constexpr ConfigField kSharedExpertsField = field<&LlamaConfig::n_shared_experts>(
    "n_shared_experts", FieldRole::none, {.own_key = "moe.shared_experts"});
inline constexpr ConfigField kDenseLayersField = field<&LlamaConfig::first_k_dense_replace>(
    "first_k_dense_replace", FieldRole::none, {.own_key = "moe.first_dense_layers"});
inline constexpr ConfigField kGroupsField = field<&LlamaConfig::n_group>("n_group");
inline constexpr ConfigField kChosenGroupsField = field<&LlamaConfig::topk_group>("topk_group");

const Family& dots1_family();

inline constexpr LlamaCode kDots1Code{
    .family = dots1_family,
    .windows = {.layers = WindowedLayers::late, .masks = MaskKinds::used},
    .attention = {.qk_norm = {.when = QkNorm::in_projection}},
    .mixture = {.gate = ExpertGateCode::grouped}};

inline LlamaConfig dots1_defaults() {
  return {.code = &kDots1Code,
          .vocab_size = 152064,
          .hidden_size = 4608,
          .intermediate_size = 10944,
          .num_hidden_layers = 62,
          .num_key_value_heads = 32,
          .sliding_window = 4096,
          .max_window_layers = 62,
          .moe_intermediate_size = 1408};
}

inline constexpr auto kDots1Fields = decoder_fields(
    kAttentionBiasField, kWindowField, field<&LlamaConfig::max_window_layers>("max_window_layers"),
    experts_field("n_routed_experts", "num_local_experts"), chosen_field(), kExpertWidthField,
    kNormalizesField, kRouterLogitsField, kSharedExpertsField, kDenseLayersField, kGroupsField,
    kChosenGroupsField);

inline constexpr auto kDots1 =
    decoder_family<dots1_defaults>(mixture_record(), "dots1", "Dots1For", kDots1Fields);

inline const Family& dots1_family() {
  return kDots1;
}

const Family& glm4_moe_family();

inline constexpr LlamaCode kGlm4MoeCode{
    .family = glm4_moe_family,
    .positions = {.rotation = Rotation::partial_inside},
    .attention = {.projection = {.biases = AttentionBiases::configured_but_output},
                  .qk_norm = {.when = QkNorm::before_transpose, .is_optional = true}},
    .mixture = {.gate = ExpertGateCode::grouped, .correction = CorrectionType::fp32}};

inline LlamaConfig glm4_moe_defaults() {
  return {.code = &kGlm4MoeCode,
          .vocab_size = 151552,
          .intermediate_size = 10944,
          .num_hidden_layers = 46,
          .num_attention_heads = 96,
          .num_key_value_heads = 8,
          .max_position_embeddings = 131072,
          .rope_parameters = {.partial_rotary_factor = 0.5},
          .num_experts = 128,
          .num_experts_per_tok = 8,
          .moe_intermediate_size = 1408,
          .norm_topk_prob = true,
          .n_shared_experts = 1,
          .first_k_dense_replace = 1};
}

inline constexpr auto kGlm4MoeFields =
    decoder_fields(kAttentionBiasField, field<&LlamaConfig::use_qk_norm>("use_qk_norm"),
                   experts_field("n_routed_experts", "num_local_experts"), chosen_field(),
                   kExpertWidthField, kNormalizesField, kRouterLogitsField, kSharedExpertsField,
                   kDenseLayersField, kGroupsField, kChosenGroupsField);

inline constexpr auto kGlm4Moe =
    decoder_family<glm4_moe_defaults>(mixture_record(), "glm4_moe", "Glm4MoeFor", kGlm4MoeFields);

inline const Family& glm4_moe_family() {
  return kGlm4Moe;
}

const Family& solar_open_family();

inline constexpr LlamaCode kSolarOpenCode{
    .family = solar_open_family,
    .attention = {.projection = {.biases = AttentionBiases::configured_but_output}},
    .mixture = {.gate = ExpertGateCode::grouped, .correction = CorrectionType::fp32}};

inline LlamaConfig solar_open_defaults() {
  return {.code = &kSolarOpenCode,
          .vocab_size = 196608,
          .intermediate_size = 1280,
          .num_hidden_layers = 48,
          .num_attention_heads = 64,
          .num_key_value_heads = 8,
          .head_dim = 128,
          .max_position_embeddings = 131072,
          .num_experts = 128,
          .num_experts_per_tok = 8,
          .moe_intermediate_size = 1280,
          .norm_topk_prob = true,
          .n_shared_experts = 1};
}

inline constexpr auto kSolarOpenFields =
    decoder_fields(kAttentionBiasField, experts_field("n_routed_experts", "num_local_experts"),
                   chosen_field(), kExpertWidthField, kNormalizesField, kRouterLogitsField,
                   kSharedExpertsField, kGroupsField, kChosenGroupsField);

inline constexpr auto kSolarOpen = decoder_family<solar_open_defaults>(
    mixture_record(), "solar_open", "SolarOpenFor", kSolarOpenFields);

inline const Family& solar_open_family() {
  return kSolarOpen;
}

}  // namespace highwater
