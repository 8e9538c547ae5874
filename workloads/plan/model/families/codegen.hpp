// CodeGen: the configuration and its defaults (transformers 5.12, configuration_codegen.py),
// restricted to the fields that decide allocations.
#pragma once

#include <memory>

#include "workloads/plan/model/families/gpt_fields.hpp"
#include "workloads/plan/model/model_problems.hpp"
#include "workloads/plan/model/release_profiles.hpp"

namespace highwater {

struct CodegenConfig {
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

  bool operator==(const CodegenConfig&) const = default;
};

const Family& family_of(const CodegenConfig& config);

inline void check_codegen(const CodegenConfig& config, ModelProblems& problems) {
  constexpr std::int64_t kModelParallel = 4;  // mp_num in CodeGenAttention
  if (config.n_head > 0 && config.n_head % kModelParallel != 0) {
    problems.add("n_head is {}; CodeGen needs a multiple of {}", config.n_head, kModelParallel);
  }
}

inline constexpr std::array<std::string_view, 1> kCodegenLoraTargets{"qkv_proj"};

inline constexpr auto kCodegen =
    family<CodegenConfig>({.name = "codegen",
                           .class_prefix = "CodeGen",
                           .fields = kGptJFields<CodegenConfig>,
                           .traits = {.sdpa_since = {5, 24}},
                           .parameters = untyped<gptj_parameters<CodegenConfig>>,
                           .lora_targets = kCodegenLoraTargets,
                           .releases = kGptJReleases,
                           .check = untyped<check_codegen>});

inline const Family& family_of(const CodegenConfig& /*config*/) {
  return kCodegen;
}

namespace models {
std::unique_ptr<LanguageModel> make_model(nn::ModelContext& context, const CodegenConfig& config);
}

}  // namespace highwater
