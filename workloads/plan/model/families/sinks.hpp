// Decoders of LLaMA's kind with attention sinks (transformers 5.23, models/<name>): Granite SWA,
// Granite MoE SWA and MiMo-V2. Scaled dot product attention has no sinks, so that they run in eager
// attention.
#pragma once

#include "workloads/plan/model/families/llama_kin.hpp"
#include "workloads/plan/model/families/mixtures.hpp"
#include "workloads/plan/model/families/shared_experts.hpp"

namespace highwater {

/// `layer_rope_theta`: the tables of each layer, of which the generator makes one pair for all.
inline void read_layer_thetas(JsonFields& fields) {
  const boost::json::array* const thetas = fields.array("layer_rope_theta");
  const auto differs = [&](const boost::json::value& theta) {
    return theta != thetas->front() || (theta.is_number() && theta.to_number<double>() == 0.0);
  };
  if (thetas != nullptr && std::ranges::any_of(*thetas, differs)) {
    fields.add_gap("layer_rope_theta", "has different numbers, which is not simulated");
  }
}

const Family& granite_swa_family();

constexpr LlamaCode granite_swa_code(LlamaCode code, const Family& (*family)()) {
  code.family = family;
  code.windows.layers = WindowedLayers::all_but_first_of;
  code.windows.masks = MaskKinds::all;
  code.positions.modules = TableModules::second_used;
  code.attention.sinks = SinkCode::rescaled;
  return code;
}

inline constexpr LlamaCode kGraniteSwaCode = granite_swa_code(kGraniteCode, granite_swa_family);

inline LlamaConfig granite_swa_defaults() {
  return {.code = &kGraniteSwaCode,
          .vocab_size = 100352,
          .hidden_size = 2560,
          .intermediate_size = 8192,
          .num_hidden_layers = 24,
          .num_attention_heads = 20,
          .num_key_value_heads = 4,
          .max_position_embeddings = 8192,
          .tie_word_embeddings = true,
          .sliding_window = 128};
}

inline constexpr auto kGraniteSwaFields = joined(kBiasedFields, std::array{kWindowField});

inline void read_granite_swa(LlamaConfig& config, JsonFields& fields) {
  read_mixture(config, fields);
  read_layer_thetas(fields);
}

constexpr Family granite_swa_record(Family record) {
  record.traits.sdpa = false;
  record.read_more = untyped<read_granite_swa>;
  return record;
}

inline constexpr auto kGraniteSwa = decoder_family<granite_swa_defaults>(
    granite_swa_record(kDecoderRelative), "granite_swa", "GraniteSWAFor", kGraniteSwaFields);

inline const Family& granite_swa_family() {
  return kGraniteSwa;
}

const Family& granitemoe_swa_family();

constexpr LlamaCode granitemoe_swa_code() {
  LlamaCode code = granite_swa_code(kGranitemoesharedCode, granitemoe_swa_family);
  code.embedding.scale = EmbeddingScale::number;
  code.positions.order = PositionOrder::ids_first;
  code.block.norms_made = NormsMade::in_between;
  return code;
}

inline constexpr LlamaCode kGranitemoeSwaCode = granitemoe_swa_code();

inline LlamaConfig granitemoe_swa_defaults() {
  LlamaConfig config = granitemoe_defaults();
  config.code = &kGranitemoeSwaCode;
  config.sliding_window = 128;
  return config;
}

inline constexpr auto kGranitemoeSwaFields =
    joined(kGranitemoesharedFields, std::array{kWindowField});

inline constexpr auto kGranitemoeSwa = decoder_family<granitemoe_swa_defaults>(
    granite_swa_record(granitemoeshared_record()), "granitemoe_swa", "GraniteMoeSWAFor",
    kGranitemoeSwaFields);

inline const Family& granitemoe_swa_family() {
  return kGranitemoeSwa;
}

// --- MiMo-V2: other heads in layers with a window, narrower values ------------------------------

const Family& mimo_v2_flash_family();

inline constexpr LlamaCode kMimoV2FlashCode{
    .family = mimo_v2_flash_family,
    .windows = {.layers = WindowedLayers::all_but_nth, .pattern = 6, .masks = MaskKinds::used},
    .positions = {.rotation = Rotation::partial_inside, .tables = RotaryTables::per_kind},
    .attention = {.projection = {.biases = AttentionBiases::configured_but_output},
                  .sinks = SinkCode::in_softmax,
                  .value_scale = ValueScale::number,
                  .heads = KeyValueHeads::doubled_in_windows},
    .mixture = {.gate = ExpertGateCode::grouped}};

inline LlamaConfig mimo_v2_flash_defaults() {
  return {.code = &kMimoV2FlashCode,
          .vocab_size = 152576,
          .intermediate_size = 16384,
          .num_hidden_layers = 48,
          .num_attention_heads = 64,
          .num_key_value_heads = 4,
          .head_dim = 192,
          .max_position_embeddings = 131072,
          .rope_parameters = {.partial_rotary_factor = 0.334},
          .sliding_window = 129,
          .num_experts = 256,
          .num_experts_per_tok = 8,
          .moe_intermediate_size = 2048,
          .norm_topk_prob = true,
          .v_head_dim = 128,
          .first_k_dense_replace = 1};
}

inline constexpr auto kMimoV2FlashFields = decoder_fields(
    kAttentionBiasField, kWindowField, experts_field("n_routed_experts", "num_local_experts"),
    chosen_field(), kExpertWidthField, kNormalizesField, kRouterLogitsField, kGroupsField,
    kChosenGroupsField, field<&LlamaConfig::v_head_dim>("v_head_dim"));

/// `rope_parameters` of each kind of layer; the tables of both are as wide.
inline void read_kinds_of_rope(LlamaConfig& config, JsonFields& fields) {
  if (auto kinds = fields.child("rope_parameters")) {
    if (auto full = kinds->child("full_attention")) {
      full->read(config.rope_parameters.partial_rotary_factor, "partial_rotary_factor");
    }
  }
}

inline void read_mimo_v2_flash(LlamaConfig& config, JsonFields& fields) {
  read_mixture(config, fields);
  read_dense_layers(config, fields);
  read_kinds_of_rope(config, fields);
  if (config.sliding_layers.empty()) {
    for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
      config.sliding_layers.push_back(layer != 0 && (layer + 1) % 6 != 0);
    }
  }
}

constexpr Family mimo_v2_flash_record() {
  Family record = mixture_record();
  record.traits.sdpa = false;
  record.read_more = untyped<read_mimo_v2_flash>;
  return record;
}

inline constexpr auto kMimoV2Flash = decoder_family<mimo_v2_flash_defaults>(
    mimo_v2_flash_record(), "mimo_v2_flash", "MiMoV2FlashFor", kMimoV2FlashFields);

inline const Family& mimo_v2_flash_family() {
  return kMimoV2Flash;
}

}  // namespace highwater
