#include "workloads/sources/shortest_words.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "workloads/plan/options/read_plan.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

/// The last two are the model's own, which is not read anew below.
bool stays(std::string_view option) {
  constexpr std::array<std::string_view, 5> kKept{"gpu", "torch", "transformers", "model",
                                                  "num-labels"};
  return find_option(option) == nullptr || std::ranges::find(kKept, option) != kKept.end();
}

OptionWords of_plans(OptionWords words) {
  std::erase_if(words, [](const OptionWord& word) { return find_option(word.first) == nullptr; });
  return words;
}

OptionWords without(OptionWords words, std::string_view option) {
  std::erase_if(words, [&](const OptionWord& word) { return word.first == option; });
  return words;
}

}  // namespace

OptionWords shortest_words(OptionWords words) {
  std::vector<std::string> problems;
  const TrainingPlan plan = read_plan_words(of_plans(words), problems);
  if (!problems.empty()) {
    return words;
  }
  const OptionWords meant = plan_words(plan);
  for (const auto& [option, text] : OptionWords(words)) {
    OptionWords fewer = without(words, option);
    if (!stays(option) &&
        plan_words(read_plan_words(of_plans(fewer), problems, &plan.model)) == meant) {
      words = std::move(fewer);
    }
  }
  return words;
}

}  // namespace highwater
