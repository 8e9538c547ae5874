// Qwen3: defaults and code of transformers 5.12 (models/qwen3); the rest is Qwen2's or LLaMA's.
#pragma once

#include "workloads/plan/model/families/qwen2.hpp"

namespace highwater {

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
