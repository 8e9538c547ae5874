// Qwen2 and Qwen3: defaults and code of transformers 5.12 (models/qwen2); the rest is LLaMA's.
#pragma once

#include "workloads/plan/model/families/decoder_family.hpp"

namespace highwater {

const Family& qwen2_family();

inline constexpr LlamaCode kQwen2Code{.family = qwen2_family,
                                      .windows = WindowedLayers::listed,
                                      .has_qkv_bias = true,
                                      .has_mask_per_kind = true};

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

inline LlamaConfig qwen2(std::int64_t vocab, std::int64_t positions, bool tied,
                         const LlamaSize& size) {
  LlamaConfig config = sized(qwen2_defaults(), size);
  config.vocab_size = vocab;
  config.max_position_embeddings = positions;
  config.tie_word_embeddings = tied;
  config.rope_parameters.rope_theta = 1e6;
  return config;
}

inline void add_qwen2_presets(PresetList& presets) {
  const auto add_tied = [&](std::string_view name, std::string_view hub_id, std::int64_t positions,
                            const LlamaSize& size) {
    presets.add(name, hub_id, qwen2(151936, positions, true, size));
  };
  const auto add_large = [&](std::string_view name, std::string_view hub_id,
                             const LlamaSize& size) {
    presets.add(name, hub_id, qwen2(152064, 131072, false, size));
  };
  add_tied("qwen2-0.5b", "Qwen/Qwen2-0.5B", 131072, {896, 4864, 24, 14, 2});
  add_tied("qwen2-1.5b", "Qwen/Qwen2-1.5B", 131072, {1536, 8960, 28, 12, 2});
  add_tied("qwen2.5-0.5b", "Qwen/Qwen2.5-0.5B", 32768, {896, 4864, 24, 14, 2});
  add_tied("qwen2.5-1.5b", "Qwen/Qwen2.5-1.5B", 131072, {1536, 8960, 28, 12, 2});
  add_tied("qwen2.5-3b", "Qwen/Qwen2.5-3B", 32768, {2048, 11008, 36, 16, 2});
  add_large("qwen2.5-7b", "Qwen/Qwen2.5-7B", {3584, 18944, 28, 28, 4});
  add_large("qwen2.5-14b", "Qwen/Qwen2.5-14B", {5120, 13824, 48, 40, 8});
  add_large("qwen2.5-32b", "Qwen/Qwen2.5-32B", {5120, 27648, 64, 40, 8});
  add_large("qwen2.5-72b", "Qwen/Qwen2.5-72B", {8192, 29568, 80, 64, 8});
}

constexpr Family qwen2_record() {
  Family record = kLlamaRelative;
  record.name = "qwen2";
  record.class_prefix = "Qwen2For";
  record.fields = kQwen2Fields;
  record.add_presets = add_qwen2_presets;
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

inline constexpr LlamaCode kQwen3Code{.family = qwen3_family,
                                      .windows = WindowedLayers::listed,
                                      .has_mask_per_kind = true,
                                      .qk_norm = QkNorm::in_projection};

inline constexpr std::array kQwen3Fields = joined(kQwen2Fields, std::array{kAttentionBiasField});

inline LlamaConfig qwen3_defaults() {
  LlamaConfig config = qwen2_defaults();
  config.code = &kQwen3Code;
  config.head_dim = 128;
  return config;
}

inline void add_qwen3_presets(PresetList& presets) {
  const auto qwen3 = [](bool tied, const LlamaSize& size) {
    LlamaConfig config = sized(qwen3_defaults(), size);
    config.max_position_embeddings = 40960;
    config.tie_word_embeddings = tied;
    config.rope_parameters.rope_theta = 1e6;
    return config;
  };
  presets.add("qwen3-0.6b", "Qwen/Qwen3-0.6B", qwen3(true, {1024, 3072, 28, 16, 8}));
  presets.add("qwen3-8b", "Qwen/Qwen3-8B", qwen3(false, {4096, 12288, 36, 32, 8}));
}

constexpr Family qwen3_record() {
  Family record = qwen2_record();
  record.name = "qwen3";
  record.class_prefix = "Qwen3For";
  record.fields = kQwen3Fields;
  record.add_presets = add_qwen3_presets;
  return record;
}

inline constexpr auto kQwen3 =
    family<LlamaConfig>(qwen3_record(), [] { return std::any(qwen3_defaults()); });

inline const Family& qwen3_family() {
  return kQwen3;
}

}  // namespace highwater
