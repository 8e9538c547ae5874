// Any values of a plan's options make a plan or are refused with reasons; a plan that is accepted
// can be written as options, and reading those gives the same plan.
//
// Each line of the input is one option: a byte that chooses the row of the option table, then its
// value as on a command line. --model takes only the names of the catalogue: files have a target of
// their own (config_fuzz).
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "traces/error.hpp"
#include "workloads/plan/options/option_table.hpp"
#include "workloads/plan/options/read_plan.hpp"
#include "workloads/plan/training_plan.hpp"

namespace {

using namespace highwater;

OptionWords words_in(std::string_view text) {
  OptionWords words{{"model", "gpt2"}};
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.empty()) {
      continue;
    }
    const auto row = static_cast<unsigned char>(line[0]) % option_table().size();
    const std::string_view name = option_table()[row].name;
    if (name != "model" && find_word(words, name) == nullptr) {
      words.emplace_back(std::string(name), std::string(line.substr(1)));
    }
  }
  return words;
}

}  // namespace

// The name and the types are libFuzzer's.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::string> problems;
  try {
    const TrainingPlan plan =
        read_plan_words(words_in({reinterpret_cast<const char*>(data), size}), problems);
    if (!problems.empty()) {
      return 0;
    }
    (void)rule_problems(plan);
    const OptionWords once = plan_words(plan);
    const TrainingPlan again = read_plan_words(once, problems);
    if (!problems.empty() || plan_words(again) != once) {
      std::abort();
    }
  } catch (const Error&) {  // told to the user
  }
  return 0;
}
