#include "tools/studies/validation/grid_plans.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/text/name_pattern.hpp"
#include "tools/text/shell_word.hpp"
#include "tools/text/usage_errors.hpp"
#include "traces/error.hpp"
#include "workloads/plan/options/file_words.hpp"
#include "workloads/plan/options/read_plan.hpp"

namespace highwater {
namespace {

std::string label(const GridEntry& entry) {
  std::vector<std::string> words;
  for (const GridOption& option : entry.options) {
    words.push_back(fmt::format("{}={}", option.name, option.value));
  }
  return fmt::format("{}", fmt::join(words, " "));
}

std::string shell_options(const GridEntry& entry) {
  std::vector<std::string> words;
  for (const GridOption& option : entry.options) {
    words.push_back(fmt::format("--{} {}", option.name, shell_word(option.value)));
  }
  return fmt::format("{}", fmt::join(words, " "));
}

/// Reads the entries of one grid file.
class GridReader {
 public:
  explicit GridReader(const std::string& source) : source_(&source) {}

  /// Checks each word of the entry separately, so that problems are reported for the right field.
  void check_words(const GridEntry& entry) {
    for (const GridOption& option : entry.options) {
      if (checked_.insert(option.path).second) {
        check(option);
      }
    }
  }

  /// @throws UsageErrors with the rules that the plan breaks
  [[nodiscard]] PlannedRun read(const GridEntry& entry) const {
    OptionWords words;
    for (const GridOption& option : entry.options) {
      if (find_word(words, option.name) != nullptr) {
        fail(option, "--" + option.name + " is given twice; names with - and with _ are the same");
      }
      words.emplace_back(option.name, option.value);
    }
    return checked_run(words);
  }

 private:
  [[noreturn]] void fail(const GridOption& option, const std::string& problem) const {
    throw InputError(*source_, option.path, problem, "");
  }

  void check(const GridOption& option) const {
    if (find_option(option.name) == nullptr) {
      fail(option, unknown_option(option.name));
    }
    OptionWords words{{option.name, option.value}};
    if (const Complaint complaint = complaint_about_file_word(words.front())) {
      fail(option, *complaint);
    }
    if (option.name != "model") {
      words.emplace_back("model", "gpt2");  // any model that is known
    }
    std::vector<std::string> problems;
    try {
      static_cast<void>(read_plan_words(words, problems));
    } catch (const InputError& error) {
      problems.emplace_back(error.what());  // of a model's file
    }
    if (!problems.empty()) {
      fail(option, fmt::format("{}", fmt::join(problems, "; ")));
    }
  }

  const std::string* source_;
  std::set<std::string> checked_;
};

}  // namespace

GridPlans grid_plans(const std::vector<GridEntry>& entries, const std::string& source) {
  GridPlans plans;
  GridReader reader(source);
  for (const GridEntry& entry : entries) {
    reader.check_words(entry);
    try {
      GridPoint point{.label = label(entry),
                      .options = shell_options(entry),
                      .run = reader.read(entry),
                      .words = {},
                      .measured = entry.measured};
      point.words = plan_words(point.run.plan);
      plans.points.push_back(std::move(point));
    } catch (const UsageErrors& errors) {
      plans.skipped.push_back({label(entry), errors.problems()});
    }
  }
  return plans;
}

void keep_matching(GridPlans& plans, std::string_view patterns) {
  const auto is_left_out = [&](const auto& point) { return !matches_any(point.label, patterns); };
  std::erase_if(plans.points, is_left_out);
  std::erase_if(plans.skipped, is_left_out);
}

}  // namespace highwater
