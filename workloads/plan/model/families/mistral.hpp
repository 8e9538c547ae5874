// Mistral: defaults and code of transformers 5.12 (models/mistral); the rest is LLaMA's.
#pragma once

#include "workloads/plan/model/families/llama.hpp"

namespace highwater {

const Family& mistral_family();

inline constexpr LlamaCode kMistralCode{.family = mistral_family,
                                        .windows = {.layers = WindowedLayers::all},
                                        .positions = {.order = PositionOrder::ids_first}};

inline constexpr std::array kMistralFields =
    joined(kRopeDecoderFields<LlamaConfig>, std::array{kSlidingWindowField<LlamaConfig>});

inline LlamaConfig mistral_defaults() {
  return {.code = &kMistralCode,
          .intermediate_size = 14336,
          .num_key_value_heads = 8,
          .max_position_embeddings = 131072,
          .sliding_window = 4096};
}

constexpr Family mistral_record() {
  Family record = kLlamaRelative;
  record.name = "mistral";
  record.class_prefix = "MistralFor";
  record.fields = kMistralFields;
  record.releases = kMistralReleases;
  return record;
}

inline constexpr auto kMistral =
    family<LlamaConfig>(mistral_record(), [] { return std::any(mistral_defaults()); });

inline const Family& mistral_family() {
  return kMistral;
}

}  // namespace highwater
