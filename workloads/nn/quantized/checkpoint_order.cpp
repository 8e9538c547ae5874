#include "workloads/nn/quantized/checkpoint_order.hpp"

#include <algorithm>
#include <charconv>
#include <compare>
#include <optional>
#include <unordered_map>

#include "traces/parse_text.hpp"

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

void collect_weights(Module& module, std::unordered_map<const void*, Linear*>& weights) {
  for (Module* child : module.children()) {
    if (auto* linear = dynamic_cast<Linear*>(child)) {
      weights.emplace(linear->weight.get(), linear);
    }
    collect_weights(*child, weights);
  }
}

std::unordered_map<const void*, Linear*> quantizable_weights(Module& root) {
  std::unordered_map<const void*, Linear*> weights;
  for (Module* child : root.children()) {
    collect_weights(*child, weights);
  }
  return weights;
}

}  // namespace

bool is_loaded_before(const std::string& a, const std::string& b) {
  return natural_key(a) < natural_key(b);
}

std::vector<CheckpointEntry> checkpoint_entries(Module& root) {
  const auto weights = quantizable_weights(root);
  std::vector<CheckpointEntry> entries;
  for (const NamedTensor& parameter : named_parameters(root)) {
    const auto found = weights.find(parameter.tensor.get());
    entries.push_back(
        {parameter.name, parameter.tensor, found == weights.end() ? nullptr : found->second});
  }
  std::ranges::sort(entries, is_loaded_before, &CheckpointEntry::name);
  return entries;
}

}  // namespace highwater::nn
