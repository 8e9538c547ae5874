// Decoders of LLaMA's kind with mixtures of experts (transformers 5.23, models/<name>): Qwen2-MoE,
// Qwen3-MoE, OLMoE, FlexOLMo, MiniMax-M2, Granite MoE.
#pragma once

#include "workloads/plan/model/families/decoder_family.hpp"
#include "workloads/plan/model/families/olmo.hpp"

namespace highwater {

constexpr ConfigField experts_field(std::string_view name, std::string_view alias = {}) {
  return field<&LlamaConfig::num_experts>(name, FieldRole::experts,
                                          {.alias = alias, .own_key = "moe.num_experts"});
}

constexpr ConfigField chosen_field(std::string_view name = "num_experts_per_tok") {
  return field<&LlamaConfig::num_experts_per_tok>(name, FieldRole::experts_per_token,
                                                  {.own_key = "moe.experts_per_token"});
}

inline constexpr ConfigField kExpertWidthField = field<&LlamaConfig::moe_intermediate_size>(
    "moe_intermediate_size", FieldRole::other_size, {.own_key = "moe.expert_ffn_hidden"});
inline constexpr ConfigField kNormalizesField =
    field<&LlamaConfig::norm_topk_prob>("norm_topk_prob");
inline constexpr ConfigField kRouterLogitsField =
    field<&LlamaConfig::output_router_logits>("output_router_logits");

inline void read_mixture(LlamaConfig& config, JsonFields& fields) {
  read_decoder(config, fields);
  if (config.sliding_window == 0) {  // how Qwen2-MoE writes that there is none
    config.sliding_window.reset();
  }
  if (const boost::json::array* const dense = fields.array("mlp_only_layers")) {
    for (const boost::json::value& layer : *dense) {
      config.mlp_only_layers.push_back(layer.is_int64() ? layer.get_int64() : -1);
    }
  }
}

inline void mixture_gaps(const LlamaConfig& config, ModelProblems& problems) {
  decoder_gaps(config, problems);
  if (config.output_router_logits) {
    problems.add("output_router_logits is true; the balancing loss is not simulated");
  }
}

constexpr Family mixture_record() {
  Family record = kDecoderRelative;
  record.read_more = untyped<read_mixture>;
  record.gaps = untyped<mixture_gaps>;
  return record;
}

// --- Qwen2-MoE and Qwen3-MoE ---------------------------------------------------------------------

const Family& qwen2_moe_family();

inline constexpr LlamaCode kQwen2MoeCode{
    .family = qwen2_moe_family,
    .windows = {.layers = WindowedLayers::early_alternate, .masks = MaskKinds::all},
    .positions = {.order = PositionOrder::ids_first},
    .attention = {.projection = {.biases = AttentionBiases::configured_but_output}},
    .mixture = {.gate = ExpertGateCode::softmax}};

inline LlamaConfig qwen2_moe_defaults() {
  return {.code = &kQwen2MoeCode,
          .vocab_size = 151936,
          .hidden_size = 2048,
          .intermediate_size = 5632,
          .num_hidden_layers = 24,
          .num_attention_heads = 16,
          .num_key_value_heads = 16,
          .max_position_embeddings = 32768,
          .attention_bias = true,
          .sliding_window = 4096,
          .num_experts = 60,
          .num_experts_per_tok = 4,
          .moe_intermediate_size = 1408,
          .shared_expert_intermediate_size = 5632};
}

inline constexpr auto kQwen2MoeFields = decoder_fields(
    field<&LlamaConfig::attention_bias>("qkv_bias"), kWindowField,
    field<&LlamaConfig::use_sliding_window>("use_sliding_window"),
    field<&LlamaConfig::max_window_layers>("max_window_layers"), experts_field("num_experts"),
    chosen_field(), kExpertWidthField, kNormalizesField, kRouterLogitsField,
    field<&LlamaConfig::shared_expert_intermediate_size>("shared_expert_intermediate_size"),
    field<&LlamaConfig::decoder_sparse_step>("decoder_sparse_step"));

inline constexpr auto kQwen2Moe = decoder_family<qwen2_moe_defaults>(
    mixture_record(), "qwen2_moe", "Qwen2MoeFor", kQwen2MoeFields);

inline const Family& qwen2_moe_family() {
  return kQwen2Moe;
}

const Family& qwen3_moe_family();

inline constexpr LlamaCode kQwen3MoeCode{
    .family = qwen3_moe_family,
    .windows = {.layers = WindowedLayers::switched},
    .positions = {.order = PositionOrder::ids_first},
    .attention = {.qk_norm = {.when = QkNorm::in_projection}},
    .mixture = {.gate = ExpertGateCode::softmax, .order = MixtureOrder::experts_first}};

inline LlamaConfig qwen3_moe_defaults() {
  return {.code = &kQwen3MoeCode,
          .vocab_size = 151936,
          .hidden_size = 2048,
          .intermediate_size = 6144,
          .num_hidden_layers = 24,
          .num_key_value_heads = 4,
          .max_position_embeddings = 32768,
          .sliding_window = 4096,
          .num_experts = 128,
          .num_experts_per_tok = 8,
          .moe_intermediate_size = 768};
}

inline constexpr auto kQwen3MoeFields =
    decoder_fields(kAttentionBiasField, kWindowField,
                   field<&LlamaConfig::use_sliding_window>("use_sliding_window"),
                   experts_field("num_experts", "num_local_experts"), chosen_field(),
                   kExpertWidthField, kNormalizesField, kRouterLogitsField,
                   field<&LlamaConfig::decoder_sparse_step>("decoder_sparse_step"));

/// What Megatron Bridge makes of the family: as Qwen3, with a MoELayer in every block.
inline std::optional<megatron::Config> qwen3_moe_in_megatron(const LlamaConfig& c) {
  std::optional<megatron::Config> config = llama_in_megatron(c);
  if (!config || !c.mlp_only_layers.empty() || c.decoder_sparse_step != 1) {
    return std::nullopt;
  }
  config->ffn = expert_width(c);
  config->experts = c.num_experts;
  config->top_k = c.num_experts_per_tok;
  config->router.scores = c.norm_topk_prob ? megatron::RouterScores::softmax_of_chosen
                                           : megatron::RouterScores::softmax_of_all;
  return config;
}

constexpr Family qwen3_moe_record() {
  Family record = mixture_record();
  record.to_megatron = untyped<qwen3_moe_in_megatron>;
  return record;
}

inline constexpr auto kQwen3Moe = decoder_family<qwen3_moe_defaults>(
    qwen3_moe_record(), "qwen3_moe", "Qwen3MoeFor", kQwen3MoeFields);

inline const Family& qwen3_moe_family() {
  return kQwen3Moe;
}

// --- OLMoE and FlexOLMo --------------------------------------------------------------------------

const Family& olmoe_family();

inline constexpr LlamaCode kOlmoeCode{.family = olmoe_family,
                                      .attention = {.projection = {.heads = HeadsViewed::together},
                                                    .qk_norm = {.when = QkNorm::whole}},
                                      .mixture = {.gate = ExpertGateCode::softmax}};

inline LlamaConfig olmoe_defaults() {
  return {.code = &kOlmoeCode,
          .vocab_size = 50304,
          .hidden_size = 2048,
          .intermediate_size = 2048,
          .num_hidden_layers = 16,
          .num_attention_heads = 16,
          .max_position_embeddings = 4096,
          .pad_token_id = 1,
          .num_experts = 64,
          .num_experts_per_tok = 8};
}

inline constexpr auto kOlmoeFields =
    decoder_fields(kAttentionBiasField, experts_field("num_experts", "num_local_experts"),
                   chosen_field(), kNormalizesField, kRouterLogitsField);

inline void read_olmoe(LlamaConfig& config, JsonFields& fields) {
  read_mixture(config, fields);
  fields.read(config.clip_qkv, "clip_qkv");
}

constexpr Family olmoe_record() {
  Family record = mixture_record();
  record.read_more = untyped<read_olmoe>;
  return record;
}

inline constexpr auto kOlmoe =
    decoder_family<olmoe_defaults>(olmoe_record(), "olmoe", "OlmoeFor", kOlmoeFields);

inline const Family& olmoe_family() {
  return kOlmoe;
}

const Family& flex_olmo_family();

constexpr LlamaCode flex_olmo_code() {
  LlamaCode code = kOlmo2Code;
  code.family = flex_olmo_family;
  code.mixture.gate = ExpertGateCode::softmax;
  return code;
}

inline constexpr LlamaCode kFlexOlmoCode = flex_olmo_code();

inline LlamaConfig flex_olmo_defaults() {
  return {.code = &kFlexOlmoCode,
          .vocab_size = 100352,
          .max_position_embeddings = 4096,
          .pad_token_id = 100277,
          .num_experts = 7,
          .num_experts_per_tok = 5};
}

inline constexpr auto kFlexOlmo =
    decoder_family<flex_olmo_defaults>(mixture_record(), "flex_olmo", "FlexOlmoFor", kOlmoeFields);

inline const Family& flex_olmo_family() {
  return kFlexOlmo;
}

// --- MiniMax-M2 ----------------------------------------------------------------------------------

const Family& minimax_m2_family();

inline constexpr LlamaCode kMinimaxM2Code{
    .family = minimax_m2_family,
    .positions = {.order = PositionOrder::ids_first, .rotation = Rotation::partial_inside},
    .attention = {.projection = {.heads = HeadsViewed::together},
                  .qk_norm = {.when = QkNorm::whole}},
    .mixture = {.gate = ExpertGateCode::sigmoid}};

inline LlamaConfig minimax_m2_defaults() {
  return {.code = &kMinimaxM2Code,
          .vocab_size = 200064,
          .hidden_size = 3072,
          .intermediate_size = 1536,
          .num_hidden_layers = 62,
          .num_attention_heads = 48,
          .num_key_value_heads = 8,
          .head_dim = 128,
          .max_position_embeddings = 196608,
          .num_experts = 256,
          .num_experts_per_tok = 8};
}

inline constexpr auto kMinimaxM2Fields = decoder_fields(
    experts_field("num_local_experts", "num_experts"), chosen_field(), kRouterLogitsField);

inline constexpr auto kMinimaxM2 = decoder_family<minimax_m2_defaults>(
    mixture_record(), "minimax_m2", "MiniMaxM2For", kMinimaxM2Fields);

inline const Family& minimax_m2_family() {
  return kMinimaxM2;
}

// --- Granite MoE ---------------------------------------------------------------------------------

const Family& granitemoe_family();

inline constexpr LlamaCode kGranitemoeCode{
    .family = granitemoe_family,
    .embedding = {.scale = EmbeddingScale::number_behind_masks},
    .block = {.norms_made = NormsMade::in_between, .scale = ResidualScale::part},
    .mixture = {.name = "block_sparse_moe",
                .gate = ExpertGateCode::topk_first,
                .gate_name = "router"},
    .head = {.logits = LogitsCode::scaled}};

inline LlamaConfig granitemoe_defaults() {
  return {.code = &kGranitemoeCode, .num_experts = 8, .num_experts_per_tok = 2};
}

inline constexpr auto kGranitemoeFields = decoder_fields(
    kAttentionBiasField, experts_field("num_local_experts"), chosen_field(), kRouterLogitsField);

inline constexpr auto kGranitemoe = decoder_family<granitemoe_defaults>(
    mixture_record(), "granitemoe", "GraniteMoeFor", kGranitemoeFields);

inline const Family& granitemoe_family() {
  return kGranitemoe;
}

const Family& granitemoeshared_family();

constexpr LlamaCode granitemoeshared_code() {
  LlamaCode code = kGranitemoeCode;
  code.family = granitemoeshared_family;
  code.block.names_fed_states = true;
  return code;
}

inline constexpr LlamaCode kGranitemoesharedCode = granitemoeshared_code();

inline LlamaConfig granitemoeshared_defaults() {
  LlamaConfig config = granitemoe_defaults();
  config.code = &kGranitemoesharedCode;
  return config;
}

inline constexpr auto kGranitemoesharedFields = joined(
    kGranitemoeFields,
    std::array{field<&LlamaConfig::shared_expert_intermediate_size>("shared_intermediate_size")});

inline void granitemoeshared_gaps(const LlamaConfig& config, ModelProblems& problems) {
  mixture_gaps(config, problems);
  if (config.shared_expert_intermediate_size != 0) {
    problems.add("shared_intermediate_size is {}; Granite's shared expert is not simulated",
                 config.shared_expert_intermediate_size);
  }
}

constexpr Family granitemoeshared_record() {
  Family record = mixture_record();
  record.gaps = untyped<granitemoeshared_gaps>;
  return record;
}

inline constexpr auto kGranitemoeshared = decoder_family<granitemoeshared_defaults>(
    granitemoeshared_record(), "granitemoeshared", "GraniteMoeSharedFor", kGranitemoesharedFields);

inline const Family& granitemoeshared_family() {
  return kGranitemoeshared;
}

}  // namespace highwater
