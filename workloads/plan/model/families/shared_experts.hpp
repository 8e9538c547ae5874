// Decoders of LLaMA's kind whose mixtures have experts that every token passes, or whose attention
// is behind a gate (transformers 5.23, models/<name>): Cohere 2 MoE, AFMoE, Beam.
#pragma once

#include "workloads/plan/model/families/gemma2.hpp"
#include "workloads/plan/model/families/glm.hpp"
#include "workloads/plan/model/families/grouped_mixtures.hpp"

namespace highwater {

/// `mlp_layer_types`: which layers have a mixture.
inline void read_dense_layers(LlamaConfig& config, JsonFields& fields) {
  const boost::json::array* const types = fields.array("mlp_layer_types");
  if (types == nullptr) {
    return;
  }
  config.first_k_dense_replace = 0;
  for (std::size_t layer = 0; layer < types->size(); ++layer) {
    if ((*types)[layer] == "dense") {
      config.mlp_only_layers.push_back(static_cast<std::int64_t>(layer));
    }
  }
}

// --- Cohere 2 MoE: norms of either kind, scores of the chosen experts ----------------------------

const Family& cohere2_moe_family();

constexpr LlamaCode cohere2_moe_code() {
  LlamaCode code = kCohere2Code;
  code.family = cohere2_moe_family;
  code.positions.rotated = RotatedLayers::windowed_or_dense;
  code.mixture.gate = ExpertGateCode::best_scores;
  return code;
}

inline constexpr LlamaCode kCohere2MoeCode = cohere2_moe_code();

constexpr LlamaCode cohere2_moe_rms_code() {
  LlamaCode code = kCohere2MoeCode;
  code.block.norm = NormKind::llama;
  return code;
}

inline constexpr LlamaCode kCohere2MoeRmsCode = cohere2_moe_rms_code();

inline LlamaConfig cohere2_moe_defaults() {
  LlamaConfig config = cohere2_defaults();
  config.code = &kCohere2MoeCode;
  config.head_dim = 128;
  config.num_experts = 8;
  config.num_experts_per_tok = 2;
  config.norm_topk_prob = true;
  return config;
}

inline constexpr auto kCohere2MoeFields =
    decoder_fields(kAttentionBiasField, kWindowField, experts_field("num_experts"), chosen_field(),
                   kRouterLogitsField, kNormalizesField,
                   field<&LlamaConfig::n_shared_experts>("num_shared_experts", FieldRole::none,
                                                         {.own_key = "moe.shared_experts"}),
                   field<&LlamaConfig::dense_intermediate_size>("prefix_dense_intermediate_size"),
                   kDenseLayersField);

inline void read_cohere2_moe(LlamaConfig& config, JsonFields& fields) {
  read_mixture(config, fields);
  read_dense_layers(config, fields);
  config.code = fields.find("rms_norm_eps") != nullptr ? &kCohere2MoeRmsCode : &kCohere2MoeCode;
  config.scores_by_sigmoid = fields.text("expert_selection_fn") == "sigmoid";
  config.averages_shared_experts = fields.text("shared_expert_combination_strategy") != "sum";
  std::int64_t pattern = 1;
  fields.read(pattern, "prefix_dense_sliding_window_pattern");
  if (pattern != 1) {
    fields.add_gap("prefix_dense_sliding_window_pattern", "is not 1, which is not simulated");
  }
}

constexpr Family cohere2_moe_record() {
  Family record = mixture_record();
  record.traits.rms_norm = false;
  record.read_more = untyped<read_cohere2_moe>;
  return record;
}

inline constexpr auto kCohere2Moe = decoder_family<cohere2_moe_defaults>(
    cohere2_moe_record(), "cohere2_moe", "Cohere2MoeFor", kCohere2MoeFields);

inline const Family& cohere2_moe_family() {
  return kCohere2Moe;
}

// --- AFMoE: attention behind a gate, norms around the parts --------------------------------------

const Family& afmoe_family();

inline constexpr LlamaCode kAfmoeCode{
    .family = afmoe_family,
    .windows = {.layers = WindowedLayers::all_but_nth,
                .masks = MaskKinds::all,
                .mask_positions = MaskPositions::left_out},
    .positions = {.order = PositionOrder::ids_first, .rotated = RotatedLayers::windowed},
    .block = {.norm = NormKind::cast_last,
              .norms = {.after_attention = "post_attention_layernorm",
                        .before_mlp = "pre_mlp_layernorm",
                        .after_mlp = "post_mlp_layernorm"},
              .norms_made = NormsMade::in_between},
    .attention = {.qk_norm = {.when = QkNorm::before_transpose, .kind = NormKind::cast_last},
                  .gate = AttentionGate::plain},
    .mixture = {.gate = ExpertGateCode::scaled_sigmoid,
                .gate_name = "router",
                .order = MixtureOrder::shared_early}};

constexpr LlamaCode afmoe_mup_code() {
  LlamaCode code = kAfmoeCode;
  code.embedding.scale = EmbeddingScale::number_of_states;
  return code;
}

inline constexpr LlamaCode kAfmoeMupCode = afmoe_mup_code();

inline LlamaConfig afmoe_defaults() {
  return {.code = &kAfmoeCode,
          .vocab_size = 200192,
          .hidden_size = 2048,
          .intermediate_size = 6144,
          .num_attention_heads = 16,
          .head_dim = 128,
          .max_position_embeddings = 16384,
          .sliding_window = 1024,
          .num_experts = 64,
          .num_experts_per_tok = 6,
          .moe_intermediate_size = 1408,
          .n_shared_experts = 2,
          .first_k_dense_replace = 1};
}

inline constexpr auto kAfmoeFields = decoder_fields(
    kAttentionBiasField, kWindowField, experts_field("num_experts", "num_local_experts"),
    chosen_field(), kExpertWidthField, kRouterLogitsField,
    field<&LlamaConfig::n_shared_experts>("num_shared_experts", FieldRole::none,
                                          {.own_key = "moe.shared_experts"}),
    field<&LlamaConfig::first_k_dense_replace>("num_dense_layers", FieldRole::none,
                                               {.own_key = "moe.first_dense_layers"}));

inline void read_afmoe(LlamaConfig& config, JsonFields& fields) {
  read_mixture(config, fields);
  bool is_scaled = false;
  fields.read(is_scaled, "mup_enabled");
  config.code = is_scaled ? &kAfmoeMupCode : &kAfmoeCode;
  std::int64_t pattern = kAfmoeCode.windows.pattern;
  fields.read(pattern, "global_attn_every_n_layers");
  if (pattern != kAfmoeCode.windows.pattern && config.sliding_layers.empty()) {
    for (std::int64_t layer = 1; layer <= config.num_hidden_layers; ++layer) {
      config.sliding_layers.push_back(layer % pattern != 0);
    }
  }
}

constexpr Family afmoe_record() {
  Family record = mixture_record();
  record.read_more = untyped<read_afmoe>;
  return record;
}

inline constexpr auto kAfmoe =
    decoder_family<afmoe_defaults>(afmoe_record(), "afmoe", "AfmoeFor", kAfmoeFields);

inline const Family& afmoe_family() {
  return kAfmoe;
}

// --- Beam: scaled residuals, queries scaled where there are no positions -------------------------

const Family& beam_family();

inline constexpr LlamaCode kBeamCode{
    .family = beam_family,
    .windows = {.layers = WindowedLayers::all_but_nth, .pattern = 6, .masks = MaskKinds::used},
    .positions = {.order = PositionOrder::ids_first,
                  .rotation = Rotation::halves_cast,
                  .rotated = RotatedLayers::windowed,
                  .tables = RotaryTables::wide},
    .block = {.norm = NormKind::cast_last, .norms = kNormsAround, .scale = ResidualScale::both},
    .attention = {.qk_norm = {.when = QkNorm::in_projection, .kind = NormKind::cast_last},
                  .gate = AttentionGate::biased,
                  .query_scale = QueryScale::of_unrotated},
    .mlp = {.kind = MlpKind::wide_gated},
    .mixture = {.gate = ExpertGateCode::grouped_late_scale},
    .head = {.logits = LogitsCode::wide_soft_capped}};

inline LlamaConfig beam_defaults() {
  return {.code = &kBeamCode,
          .vocab_size = 151936,
          .hidden_size = 5120,
          .intermediate_size = 20480,
          .num_hidden_layers = 52,
          .num_attention_heads = 48,
          .num_key_value_heads = 8,
          .head_dim = 128,
          .max_position_embeddings = 8192,
          .sliding_window = 512,
          .num_experts = 256,
          .num_experts_per_tok = 8,
          .moe_intermediate_size = 2560,
          .norm_topk_prob = true,
          .n_group = 8,
          .topk_group = 4,
          .first_k_dense_replace = 3,
          .final_logit_softcapping = 30.0};
}

inline constexpr auto kBeamFields = decoder_fields(
    kAttentionBiasField, kWindowField, experts_field("num_experts"), chosen_field(),
    kExpertWidthField, kNormalizesField, kRouterLogitsField, kGroupsField, kChosenGroupsField);

inline void read_beam(LlamaConfig& config, JsonFields& fields) {
  read_mixture(config, fields);
  read_dense_layers(config, fields);
  read_cap(config.final_logit_softcapping, "final_logit_softcapping", fields);
  if (config.sliding_layers.empty()) {
    for (std::int64_t layer = 1; layer <= config.num_hidden_layers; ++layer) {
      config.sliding_layers.push_back(layer % 6 != 0 && layer != config.num_hidden_layers);
    }
  }
}

constexpr Family beam_record() {
  Family record = mixture_record();
  record.read_more = untyped<read_beam>;
  return record;
}

inline constexpr auto kBeam =
    decoder_family<beam_defaults>(beam_record(), "beam", "BeamFor", kBeamFields);

inline const Family& beam_family() {
  return kBeam;
}

}  // namespace highwater
