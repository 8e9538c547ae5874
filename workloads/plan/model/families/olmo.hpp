// OLMo, OLMo 2, OLMo 3 and EXAONE 4 (transformers 5.23, models/<name>): norms without weights, or
// behind the parts of a block instead of before them.
#pragma once

#include "workloads/plan/model/families/decoder_family.hpp"

namespace highwater {

inline constexpr BlockNorms kNormsBehind{.before_attention = nullptr,
                                         .after_attention = "post_attention_layernorm",
                                         .before_mlp = nullptr,
                                         .after_mlp = "post_feedforward_layernorm"};

inline LlamaConfig olmo_defaults_of(const LlamaCode& code) {
  return {.code = &code, .vocab_size = 50304, .pad_token_id = 1};
}

const Family& olmo_family();

inline constexpr LlamaCode kOlmoCode{
    .family = olmo_family,
    .positions = {.rotation = Rotation::halves_cast, .tables = RotaryTables::wide},
    .block = {.norm = NormKind::layer_plain},
    .attention = {.projection = {.heads = HeadsViewed::together}}};

inline LlamaConfig olmo_defaults() {
  return olmo_defaults_of(kOlmoCode);
}

inline void read_olmo(LlamaConfig& config, JsonFields& fields) {
  read_decoder(config, fields);
  fields.read(config.clip_qkv, "clip_qkv");
}

constexpr Family olmo_record() {
  Family record = kDecoderRelative;
  record.read_more = untyped<read_olmo>;
  return record;
}

inline constexpr auto kOlmoFields = decoder_fields(kAttentionBiasField);

inline constexpr auto kOlmo =
    decoder_family<olmo_defaults>(olmo_record(), "olmo", "OlmoFor", kOlmoFields);

inline const Family& olmo_family() {
  return kOlmo;
}

const Family& olmo2_family();

inline constexpr LlamaCode kOlmo2Code{
    .family = olmo2_family,
    .positions = {.rotation = Rotation::halves_cast, .tables = RotaryTables::wide},
    .block = {.norm = NormKind::cast_last, .norms = kNormsBehind},
    .attention = {.projection = {.heads = HeadsViewed::together},
                  .qk_norm = {.when = QkNorm::whole, .kind = NormKind::cast_last}}};

inline LlamaConfig olmo2_defaults() {
  return olmo_defaults_of(kOlmo2Code);
}

inline constexpr auto kOlmo2 =
    decoder_family<olmo2_defaults>(kDecoderRelative, "olmo2", "Olmo2For", kOlmoFields);

inline const Family& olmo2_family() {
  return kOlmo2;
}

const Family& olmo3_family();

constexpr LlamaCode olmo3_code() {
  LlamaCode code = kOlmo2Code;
  code.family = olmo3_family;
  code.windows.layers = WindowedLayers::all_but_nth;
  code.windows.masks = MaskKinds::all;
  code.positions.order = PositionOrder::ids_first;
  code.positions.tables = RotaryTables::wide_per_kind;
  return code;
}

inline constexpr LlamaCode kOlmo3Code = olmo3_code();

inline LlamaConfig olmo3_defaults() {
  LlamaConfig config = olmo_defaults_of(kOlmo3Code);
  config.sliding_window = 4096;
  return config;
}

inline constexpr auto kOlmo3Fields = decoder_fields(kAttentionBiasField, kWindowField);

inline constexpr auto kOlmo3 =
    decoder_family<olmo3_defaults>(kDecoderRelative, "olmo3", "Olmo3For", kOlmo3Fields);

inline const Family& olmo3_family() {
  return kOlmo3;
}

const Family& exaone4_family();

inline constexpr LlamaCode kExaone4Code{
    .family = exaone4_family,
    .windows = {.layers = WindowedLayers::all_but_nth, .masks = MaskKinds::used},
    .positions = {.order = PositionOrder::ids_first, .rotated = RotatedLayers::windowed_if_any},
    .block = {.norms = kNormsBehind},
    .attention = {.qk_norm = {.when = QkNorm::before_rotation}}};

inline LlamaConfig exaone4_defaults() {
  return {.code = &kExaone4Code,
          .vocab_size = 102400,
          .intermediate_size = 16384,
          .num_key_value_heads = 32,
          .sliding_window = 4096};
}

inline constexpr auto kExaone4Fields = decoder_fields(kWindowField);

inline constexpr auto kExaone4 =
    decoder_family<exaone4_defaults>(kDecoderRelative, "exaone4", "Exaone4For", kExaone4Fields);

inline const Family& exaone4_family() {
  return kExaone4;
}

}  // namespace highwater
