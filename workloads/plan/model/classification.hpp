// Which families the simulation has ...ForSequenceClassification of: BERT's, and the classes of
// transformers 5.23 (MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING) that score the last token, which
// are GenericForSequenceClassification or the same code in the family's own file.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace highwater {

inline constexpr std::array<std::string_view, 37> kClassifyingFamilies{"arcee",
                                                                       "bert",
                                                                       "biogpt",
                                                                       "bloom",
                                                                       "deepseek_v3",
                                                                       "exaone4",
                                                                       "gemma",
                                                                       "gemma2",
                                                                       "glm",
                                                                       "glm4",
                                                                       "gemma3_text",
                                                                       "gpt2",
                                                                       "gpt_bigcode",
                                                                       "gpt_neo",
                                                                       "gpt_neox",
                                                                       "gptj",
                                                                       "hunyuan_v1_dense",
                                                                       "helium",
                                                                       "llama",
                                                                       "ministral",
                                                                       "mistral",
                                                                       "mixtral",
                                                                       "nemotron",
                                                                       "olmo",
                                                                       "olmo2",
                                                                       "olmo3",
                                                                       "opt",
                                                                       "phi",
                                                                       "phi3",
                                                                       "qwen2",
                                                                       "qwen2_moe",
                                                                       "qwen3",
                                                                       "qwen3_moe",
                                                                       "seed_oss",
                                                                       "smollm3",
                                                                       "stablelm",
                                                                       "starcoder2"};

constexpr bool can_classify(std::string_view family) {
  return std::ranges::find(kClassifyingFamilies, family) != kClassifyingFamilies.end();
}

}  // namespace highwater
