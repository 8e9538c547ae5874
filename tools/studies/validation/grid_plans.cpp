#include "tools/studies/validation/grid_plans.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/commands/commands.hpp"
#include "tools/options/plan_words.hpp"
#include "tools/text/name_pattern.hpp"
#include "traces/error.hpp"

namespace highwater {
namespace {

std::string argument(const GridOption& option) {
  return fmt::format("--{}={}", option.name, option.value);
}

/// A word that a shell leaves as it is.
std::string shell_word(const std::string& text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./,:=+@";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) {
    return text;
  }
  std::string quoted = "'";
  for (const char c : text) {
    quoted += c == '\'' ? "'\\''" : std::string(1, c);
  }
  return quoted + "'";
}

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

class PlanReader {
 public:
  explicit PlanReader(const std::string& source) : source_(&source), parser_(command("generate")) {
    add_plan_options(parser_);
  }

  /// Looks at each word of the entry alone, so that what is wrong is said of the right field.
  void check_words(const GridEntry& entry) {
    for (const GridOption& option : entry.options) {
      if (checked_.insert(option.path).second) {
        check(option);
      }
    }
  }

  /// @throws UsageErrors with the rules that the plan breaks
  PlannedRun read(const GridEntry& entry) const {
    Arguments arguments;
    for (const GridOption& option : entry.options) {
      arguments.push_back(argument(option));
    }
    return read_plan(parse(arguments, entry.path));
  }

 private:
  void check(const GridOption& option) const {
    Arguments arguments{argument(option)};
    if (option.name != "model") {
      arguments.emplace_back("--model=gpt2");  // any model that is known
    }
    std::vector<std::string> problems;
    try {
      read_plan_options(parse(arguments, option.path), problems);
    } catch (const InputError& error) {
      if (error.where() == option.path) {
        throw;
      }
      problems.emplace_back(error.what());  // of a model's file
    }
    if (!problems.empty()) {
      throw InputError(*source_, option.path, fmt::format("{}", fmt::join(problems, "; ")), "");
    }
  }

  boost::program_options::variables_map parse(const Arguments& arguments,
                                              const std::string& path) const {
    try {
      return parser_.parse(arguments);
    } catch (const UsageError& error) {
      throw InputError(*source_, path, error.what(), "");
    }
  }

  const std::string* source_;
  OptionParser parser_;
  std::set<std::string> checked_;
};

}  // namespace

GridPlans grid_plans(const std::vector<GridEntry>& entries, const std::string& source) {
  GridPlans plans;
  PlanReader reader(source);
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
