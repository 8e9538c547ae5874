// Decoders of LLaMA's kind with attention sinks (transformers 5.23, models/<name>): Granite SWA and
// Granite MoE SWA. Scaled dot product attention has no sinks, so that they run in eager attention.
#pragma once

#include "workloads/plan/model/families/llama_kin.hpp"
#include "workloads/plan/model/families/mixtures.hpp"

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
  code.windows = WindowedLayers::all_but_first_of;
  code.has_mask_per_kind = true;
  code.makes_unused_masks = true;
  code.has_unused_tables = true;
  code.sinks = SinkCode::rescaled;
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
  code.multiplies_embedding = true;
  code.multiplies_embedding_late = false;
  code.names_positions_last = false;
  code.norms_made = NormsMade::in_between;
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

}  // namespace highwater
