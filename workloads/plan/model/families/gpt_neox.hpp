// GPT-NeoX and its Japanese relative (transformers 5.23, models/<name>): one projection of all
// heads' parts, LayerNorms, the first columns of a head turned.
#pragma once

#include "workloads/plan/model/families/phi.hpp"

namespace highwater {

// --- GPT-NeoX (Pythia) ---------------------------------------------------------------------------

const Family& gpt_neox_family();

inline constexpr LlamaCode kGptNeoxCode{
    .family = gpt_neox_family,
    .model_name = "gpt_neox",
    .embedding = {.name = "embed_in", .dropout = DropoutName::hidden_states},
    .positions = {.order = PositionOrder::ids_first, .rotation = Rotation::partial_inside},
    .block = {.norm = NormKind::layer,
              .norms_made = NormsMade::first,
              .residual = Residual::two_norms},
    .attention = {.name = "attention",
                  .projection = {.qkv = QkvProjection::head_parts,
                                 .fused_name = "query_key_value",
                                 .output_name = "dense"}},
    .mlp = {.kind = MlpKind::plain, .widen_name = "dense_h_to_4h", .narrow_name = "dense_4h_to_h"},
    .last_norm = {.name = "final_layer_norm"}};

inline LlamaConfig gpt_neox_defaults() {
  return {.code = &kGptNeoxCode,
          .vocab_size = 50432,
          .hidden_size = 6144,
          .intermediate_size = 24576,
          .num_hidden_layers = 44,
          .num_attention_heads = 64,
          .hidden_act = Activation::gelu,
          .rope_parameters = {.partial_rotary_factor = 0.25},
          .attention_bias = true,
          .mlp_bias = true,
          .use_parallel_residual = true};
}

inline constexpr std::array kGptNeoxFields{
    field<&LlamaConfig::vocab_size>("vocab_size", FieldRole::vocab),
    field<&LlamaConfig::hidden_size>("hidden_size", FieldRole::hidden),
    field<&LlamaConfig::intermediate_size>("intermediate_size", FieldRole::ffn),
    field<&LlamaConfig::num_hidden_layers>("num_hidden_layers", FieldRole::layers),
    field<&LlamaConfig::max_position_embeddings>("max_position_embeddings",
                                                 FieldRole::max_positions),
    field<&LlamaConfig::num_attention_heads>("num_attention_heads", FieldRole::heads),
    field<&LlamaConfig::hidden_act>("hidden_act"),
    field<&LlamaConfig::tie_word_embeddings>("tie_word_embeddings", FieldRole::tied),
    field<&LlamaConfig::attention_bias>("attention_bias"),
    field<&LlamaConfig::use_parallel_residual>("use_parallel_residual"),
    field<&LlamaConfig::attention_dropout>("attention_dropout", FieldRole::attention_dropout),
    kHiddenDropoutOfEmbedding,
    kHiddenDropout};

/// Files before transformers 5 name the part of a head that is turned, and its base, otherwise.
inline void read_gpt_neox(LlamaConfig& config, JsonFields& fields) {
  fields.read(config.rope_parameters.partial_rotary_factor, "rotary_pct");
  fields.read(config.rope_parameters.rope_theta, "rotary_emb_base");
  read_decoder(config, fields);
}

inline constexpr std::array<std::string_view, 1> kFusedLoraTargets{"query_key_value"};

constexpr Family gpt_neox_record() {
  Family record = plain_mlp_record();
  record.lora_targets = kFusedLoraTargets;
  record.read_more = untyped<read_gpt_neox>;
  return record;
}

inline constexpr auto kGptNeox =
    decoder_family<gpt_neox_defaults>(gpt_neox_record(), "gpt_neox", "GPTNeoXFor", kGptNeoxFields);

inline const Family& gpt_neox_family() {
  return kGptNeox;
}

// --- GPT-NeoX-Japanese: attention by baddbmm, a bias in the last layer ---------------------------

const Family& gpt_neox_japanese_family();

inline constexpr LlamaCode kGptNeoxJapaneseCode{
    .family = gpt_neox_japanese_family,
    .model_name = "gpt_neox_japanese",
    .embedding = {.name = "embed_in"},
    .positions = {.order = PositionOrder::ids_first, .rotation = Rotation::partial_rebound},
    .block = {.norm = NormKind::layer,
              .norms_made = NormsMade::first,
              .residual = Residual::named_dropout},
    .attention = {.name = "attention",
                  .kind = AttentionKind::baddbmm,
                  .projection = {.qkv = QkvProjection::head_parts,
                                 .fused_name = "query_key_value",
                                 .output_name = "dense"}},
    .mlp = {.kind = MlpKind::plain, .widen_name = "dense_h_to_4h", .narrow_name = "dense_4h_to_h"},
    .last_norm = {.name = "final_layer_norm"}};

inline LlamaConfig gpt_neox_japanese_defaults() {
  return {.code = &kGptNeoxJapaneseCode,
          .hidden_size = 2560,
          .intermediate_size = 10240,
          .hidden_act = Activation::gelu,
          .tie_word_embeddings = true,
          .attention_dropout = 0.1};
}

inline constexpr std::array kGptNeoxJapaneseFields{
    field<&LlamaConfig::vocab_size>("vocab_size", FieldRole::vocab),
    field<&LlamaConfig::hidden_size>("hidden_size", FieldRole::hidden),
    field<&LlamaConfig::num_hidden_layers>("num_hidden_layers", FieldRole::layers),
    field<&LlamaConfig::max_position_embeddings>("max_position_embeddings",
                                                 FieldRole::max_positions),
    field<&LlamaConfig::num_attention_heads>("num_attention_heads", FieldRole::heads),
    field<&LlamaConfig::hidden_act>("hidden_act"),
    field<&LlamaConfig::tie_word_embeddings>("tie_word_embeddings", FieldRole::tied),
    field<&LlamaConfig::attention_dropout>("attention_dropout", FieldRole::attention_dropout),
    kHiddenDropout};

inline void read_gpt_neox_japanese(LlamaConfig& config, JsonFields& fields) {
  read_gpt_neox(config, fields);
  std::int64_t multiple = 4;
  fields.read(multiple, "intermediate_multiple_size");
  config.intermediate_size = multiple * config.hidden_size;
}

inline void read_flat_gpt_neox_japanese(LlamaConfig& config, JsonFields& /*fields*/) {
  config.intermediate_size = 4 * config.hidden_size;
}

constexpr Family gpt_neox_japanese_record() {
  Family record = gpt_neox_record();
  record.traits.sdpa = false;
  record.traits.attention_function = AttentionFunction::never;
  record.read_more = untyped<read_gpt_neox_japanese>;
  record.read_more_flat = untyped<read_flat_gpt_neox_japanese>;
  return record;
}

inline constexpr auto kGptNeoxJapanese = decoder_family<gpt_neox_japanese_defaults>(
    gpt_neox_japanese_record(), "gpt_neox_japanese", "GPTNeoXJapaneseFor", kGptNeoxJapaneseFields);

inline const Family& gpt_neox_japanese_family() {
  return kGptNeoxJapanese;
}

}  // namespace highwater
