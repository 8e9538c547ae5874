#include "workloads/plan/options/option_table.hpp"

#include <algorithm>
#include <unordered_map>

namespace highwater {

struct TrainingPlan;

namespace {

std::vector<Option> all_rows() {
  std::vector<Option> rows;
  for (const auto section :
       {option_sections::model_options(), option_sections::training_options(),
        option_sections::parallel_sizes_options(), option_sections::wrappers_options(),
        option_sections::megatron_options(), option_sections::fsdp1_options(),
        option_sections::communication_options(), option_sections::device_options(),
        option_sections::deepspeed_options(), option_sections::ddp_hooks_options()}) {
    rows.insert(rows.end(), section.begin(), section.end());
  }
  return rows;
}

/// Plans are made option by option, and every command makes some.
std::unordered_map<std::string_view, const Option*> rows_by_name() {
  std::unordered_map<std::string_view, const Option*> rows;
  for (const Option& option : option_table()) {
    rows.emplace(option.name, &option);
  }
  return rows;
}

}  // namespace

std::span<const Option> option_table() {
  static const std::vector<Option> rows = all_rows();
  return rows;
}

const Option* find_option(std::string_view name) {
  static const auto kRows = rows_by_name();
  const auto found = kRows.find(name);
  return found == kRows.end() ? nullptr : found->second;
}

const Option& option_called(std::string_view name) {
  return *find_option(name);
}

std::vector<std::string> plan_option_names() {
  std::vector<std::string> names;
  for (const Option& option : option_table()) {
    names.emplace_back(option.name);
  }
  return names;
}

OptionWords plan_words(const TrainingPlan& plan) {
  OptionWords words;
  for (const Option& option : option_table()) {
    std::string text = option.text(plan);
    if (!text.empty()) {
      words.emplace_back(option.name, std::move(text));
    }
  }
  return words;
}

const std::string* find_word(const OptionWords& words, std::string_view name) {
  const auto found = std::ranges::find(words, name, &OptionWord::first);
  return found == words.end() ? nullptr : &found->second;
}

}  // namespace highwater
