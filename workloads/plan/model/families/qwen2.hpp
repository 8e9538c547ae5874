// Qwen2 and Qwen3: defaults and code of transformers 5.12 (models/qwen2); the rest is LLaMA's.
#pragma once

#include "workloads/plan/model/families/decoder_family.hpp"

namespace highwater {

const Family& qwen2_family();

inline constexpr LlamaCode kQwen2Code{
    .family = qwen2_family,
    .windows = {.layers = WindowedLayers::listed, .masks = MaskKinds::used},
    .attention = {.projection = {.biases = AttentionBiases::always_but_output}}};

inline constexpr std::array kQwen2Fields =
    joined(kRopeDecoderFields<LlamaConfig>,
           std::array{kSlidingWindowField<LlamaConfig>,
                      field<&LlamaConfig::use_sliding_window>("use_sliding_window"),
                      field<&LlamaConfig::max_window_layers>("max_window_layers")});

inline LlamaConfig qwen2_defaults() {
  return {.code = &kQwen2Code,
          .vocab_size = 151936,
          .intermediate_size = 22016,
          .num_key_value_heads = 32,
          .max_position_embeddings = 32768,
          .sliding_window = 4096};
}

constexpr Family qwen2_record() {
  Family record = kLlamaRelative;
  record.name = "qwen2";
  record.class_prefix = "Qwen2For";
  record.fields = kQwen2Fields;
  record.check = untyped<check_decoder>;
  record.read_more = untyped<read_decoder>;
  return record;
}

inline constexpr auto kQwen2 =
    family<LlamaConfig>(qwen2_record(), [] { return std::any(qwen2_defaults()); });

inline const Family& qwen2_family() {
  return kQwen2;
}

const Family& qwen3_family();

inline constexpr LlamaCode kQwen3Code{
    .family = qwen3_family,
    .windows = {.layers = WindowedLayers::listed, .masks = MaskKinds::used},
    .attention = {.qk_norm = {.when = QkNorm::in_projection}}};

inline constexpr std::array kQwen3Fields = joined(kQwen2Fields, std::array{kAttentionBiasField});

inline LlamaConfig qwen3_defaults() {
  LlamaConfig config = qwen2_defaults();
  config.code = &kQwen3Code;
  config.head_dim = 128;
  return config;
}

constexpr Family qwen3_record() {
  Family record = qwen2_record();
  record.name = "qwen3";
  record.class_prefix = "Qwen3For";
  record.fields = kQwen3Fields;
  return record;
}

inline constexpr auto kQwen3 =
    family<LlamaConfig>(qwen3_record(), [] { return std::any(qwen3_defaults()); });

inline const Family& qwen3_family() {
  return kQwen3;
}

}  // namespace highwater
