#include "workloads/plan/lora_targets.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <variant>

namespace highwater {

namespace {

using TargetRow = std::pair<std::string_view, std::string_view>;

constexpr std::array kFusedProjections{
    TargetRow{"gpt2", "c_attn"}, TargetRow{"gpt_bigcode", "c_attn"},
    TargetRow{"bloom", "query_key_value"}, TargetRow{"codegen", "qkv_proj"}};

constexpr std::array<std::string_view, 9> kWithQueryAndValue{
    "opt", "gptj", "gpt_neo", "llama", "mistral", "mixtral", "gemma", "qwen2", "qwen3"};

std::vector<std::string> default_targets(std::string_view family) {
  const auto* row = std::ranges::find(kFusedProjections, family, &TargetRow::first);
  if (row != kFusedProjections.end()) {
    return {std::string(row->second)};
  }
  if (std::ranges::find(kWithQueryAndValue, family) != kWithQueryAndValue.end()) {
    return {"q_proj", "v_proj"};
  }
  return family == "t5" ? std::vector<std::string>{"q", "v"} : std::vector<std::string>{};
}

}  // namespace

std::vector<std::string> lora_targets(const TrainingPlan& plan) {
  if (!plan.lora.targets.empty() || !is_transformers_model(plan)) {
    return plan.lora.targets;
  }
  return default_targets(family_name(plan.model));
}

bool is_transformers_model(const TrainingPlan& plan) {
  return plan.model_code == ModelCode::hf &&
         !std::holds_alternative<PlainConfig>(plan.model.config);
}

}  // namespace highwater
