// Plans of tests, given as a few words.
#pragma once

#include <algorithm>
#include <sstream>
#include <string>

#include <catch2/catch.hpp>

#include "workloads/plan/options/read_plan.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::test {

/// Options as "name=value name=value"; a llama-160m with 128 tokens unless they say otherwise.
inline TrainingPlan plan_of_words(const std::string& options) {
  OptionWords words;
  std::istringstream in(options);
  for (std::string option; in >> option;) {
    const std::size_t equals = option.find('=');
    words.emplace_back(option.substr(0, equals), option.substr(equals + 1));
  }
  const auto give = [&](const std::string& name, const std::string& value) {
    if (std::ranges::find(words, name, &OptionWord::first) == words.end()) {
      words.emplace_back(name, value);
    }
  };
  give("model", "llama-160m");
  give("seq", "128");
  std::vector<std::string> problems;
  TrainingPlan plan = read_plan_words(words, problems);
  CAPTURE(options, problems);
  REQUIRE(problems.empty());
  return plan;
}

}  // namespace highwater::test
