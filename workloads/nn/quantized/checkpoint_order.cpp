#include "workloads/nn/quantized/checkpoint_order.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <compare>
#include <optional>
#include <unordered_map>

#include "traces/parse_text.hpp"
#include "workloads/plan/model/published_weights.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::nn {
namespace {

/// One part of a name: a number, or a text with the number it ends in.
struct NamePart {
  bool is_text = false;
  std::string text;
  std::optional<std::int64_t> number;

  auto operator<=>(const NamePart&) const = default;
};

std::optional<std::int64_t> number_in(std::string_view digits) {
  std::int64_t number = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return read.ec == std::errc{} ? std::optional(number) : std::nullopt;
}

NamePart part_of(const std::string& part) {
  const std::size_t letters = part.find_last_not_of("0123456789") + 1;
  return {.is_text = letters > 0,
          .text = part.substr(0, letters),
          .number = number_in(std::string_view(part).substr(letters))};
}

std::vector<NamePart> natural_key(const std::string& name) {
  std::vector<NamePart> key;
  for (const std::string& part : split(name, '.')) {
    key.push_back(part_of(part));
  }
  return key;
}

using LayersByWeight = std::unordered_map<const void*, Linear*>;

void collect_weights(Module& module, LayersByWeight& weights) {
  for (Module* child : module.children()) {
    if (auto* linear = dynamic_cast<Linear*>(child)) {
      weights.emplace(linear->weight.get(), linear);
    }
    collect_weights(*child, weights);
  }
}

LayersByWeight quantizable_weights(Module& root) {
  LayersByWeight weights;
  for (Module* child : root.children()) {
    collect_weights(*child, weights);
  }
  return weights;
}

// quantizers_utils.py should_convert_module, for patterns that are plain names.
bool is_left_out(std::string_view module, std::string_view name) {
  const bool begins =
      module.starts_with(name) && (module.size() == name.size() || module[name.size()] == '.');
  return begins || module.ends_with(name);
}

bool is_left_out(const PublishedWeights& published, std::string_view parameter) {
  const std::string_view module = parameter.substr(0, parameter.rfind('.'));
  return std::ranges::any_of(published.unquantized,
                             [&](const std::string& name) { return is_left_out(module, name); });
}

/// A parameter of all experts, and the first tensor of those in the files that it is merged from.
struct ExpertParameter {
  std::string_view end;
  std::string_view first;
  std::string_view first_of_mixtral;
  int matrices;
};

constexpr std::array kExpertParameters{
    ExpertParameter{".experts.gate_up_proj", ".experts.0.gate_proj.weight", ".experts.0.w1.weight",
                    2},
    ExpertParameter{".experts.down_proj", ".experts.0.down_proj.weight", ".experts.0.w2.weight",
                    1}};

const ExpertParameter* expert_parameter(std::string_view name) {
  const auto* const found = std::ranges::find_if(
      kExpertParameters, [&](const ExpertParameter& row) { return name.ends_with(row.end); });
  return found == kExpertParameters.end() ? nullptr : found;
}

void replace(std::string& text, std::string_view old, std::string_view with) {
  if (const std::size_t at = text.find(old); at != std::string::npos) {
    text.replace(at, old.size(), with);
  }
}

std::string name_in_files(std::string name, bool is_mixtral) {
  if (const ExpertParameter* experts = expert_parameter(name)) {
    replace(name, experts->end, is_mixtral ? experts->first_of_mixtral : experts->first);
  }
  if (is_mixtral) {
    replace(name, ".mlp.", ".block_sparse_moe.");
  }
  return name;
}

// Of a layer in 8 bits the scales come before its bias and its codes.
void put_scales_first(CheckpointEntry& entry, WeightFormat format) {
  if (entry.quantizable != nullptr && format == WeightFormat::int8) {
    replace(entry.name, ".weight", ".SCB");
  }
}

}  // namespace

bool is_loaded_before(const std::string& a, const std::string& b) {
  return natural_key(a) < natural_key(b);
}

std::vector<CheckpointEntry> checkpoint_entries(Module& root) {
  const TrainingPlan& plan = root.context().plan;
  const auto published = published_weights(plan.model);
  const bool is_mixtral = plan.model.config.family().name == "mixtral";
  const auto weights = quantizable_weights(root);
  std::vector<CheckpointEntry> entries;
  for (const NamedTensor& parameter : named_parameters(root)) {
    const auto found = weights.find(parameter.tensor.get());
    const bool is_quantized =
        found != weights.end() && !(published && is_left_out(*published, parameter.name));
    const ExpertParameter* experts = expert_parameter(parameter.name);
    CheckpointEntry& entry = entries.emplace_back(
        name_in_files(parameter.name, is_mixtral), parameter.tensor,
        is_quantized ? found->second : nullptr, experts != nullptr ? experts->matrices : 0);
    if (published) {
      put_scales_first(entry, plan.quantization.weights);
    }
  }
  std::ranges::sort(entries, is_loaded_before, &CheckpointEntry::name);
  return entries;
}

}  // namespace highwater::nn
