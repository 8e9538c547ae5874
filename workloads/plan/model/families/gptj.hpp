// GPT-J: the configuration and its defaults (transformers 5.12, configuration_gptj.py), restricted
// to the fields that decide allocations.
#pragma once

#include <memory>

#include "workloads/plan/model/families/gpt_fields.hpp"
#include "workloads/plan/model/release_profiles.hpp"

namespace highwater {

struct GptJConfig {
  std::int64_t vocab_size = 50400;
  std::int64_t n_positions = 2048;
  std::int64_t n_embd = 4096;
  std::int64_t n_layer = 28;
  std::int64_t n_head = 16;
  std::int64_t rotary_dim = 64;
  std::optional<std::int64_t> n_inner;  ///< absent: 4 * n_embd
  Activation activation_function = Activation::gelu_new;
  double resid_pdrop = 0.0;
  double embd_pdrop = 0.0;
  double attn_pdrop = 0.0;
  bool tie_word_embeddings = false;

  bool operator==(const GptJConfig&) const = default;
};

const Family& family_of(const GptJConfig& config);

inline constexpr std::array<std::string_view, 2> kGptJLoraTargets{"q_proj", "v_proj"};

inline constexpr auto kGptJ =
    family<GptJConfig>({.name = "gptj",
                        .class_prefix = "GPTJ",
                        .fields = kGptJFields<GptJConfig>,
                        .traits = {.sdpa_since = {5, 24}},
                        .parameters = untyped<gptj_parameters<GptJConfig>>,
                        .lora_targets = kGptJLoraTargets,
                        .releases = kGptJReleases});

inline const Family& family_of(const GptJConfig& /*config*/) {
  return kGptJ;
}

namespace models {
std::unique_ptr<LanguageModel> make_model(nn::ModelContext& context, const GptJConfig& config);
}

}  // namespace highwater
