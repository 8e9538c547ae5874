#include "tools/options/plan_line.hpp"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/program_options/variables_map.hpp>

#include "tools/commands/commands.hpp"
#include "tools/options/plan_options.hpp"
#include "tools/options/plan_words.hpp"
#include "tools/text/safe_text.hpp"

namespace highwater {
namespace {

using Words = std::vector<std::pair<std::string, std::string>>;

// One option can decide about others, those about more: framework, dp-kind, init.
constexpr int kMostRounds = 4;

Words read_back(const Words& line) {
  Arguments arguments;
  for (const auto& [option, text] : line) {
    arguments.push_back("--" + option + "=" + text);
  }
  OptionParser parser(command("simulate"));
  add_plan_options(parser);
  std::vector<std::string> ignored;  // half a line may be no plan yet
  return plan_words(read_plan_options(parser.parse(arguments), ignored).plan);
}

bool is_said(const Words& line, const std::string& option) {
  return std::ranges::find(line, option, &Words::value_type::first) != line.end();
}

/// The model, the framework, and what these two do not imply.
Words shortest(const TrainingPlan& plan, const LineOptions& options) {
  Words line{{"model", options.model}};
  if (plan.framework != Framework::torch) {
    line.emplace_back("framework", word_of(kFrameworks, plan.framework));
  }
  const Words wanted = plan_words(plan);
  for (int round = 0; round < kMostRounds; ++round) {
    const Words known = read_back(line);
    const std::size_t size = line.size();
    for (const auto& [option, text] : wanted) {
      const bool is_implied = std::ranges::find(known, std::pair(option, text)) != known.end();
      if (!is_implied && !is_said(line, option)) {
        line.emplace_back(option, text);
      }
    }
    if (line.size() == size) {
      break;
    }
  }
  return line;
}

/// Text as one word of a POSIX shell.
std::string quoted(std::string_view text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+./,:=@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos) {
    return std::string(text);
  }
  std::string word = "'";
  for (const char c : text) {
    word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return word + "'";
}

}  // namespace

std::string simulate_line(const TrainingPlan& plan, const LineOptions& options) {
  Words line = shortest(plan, options);
  std::erase_if(line, [](const auto& word) { return word.first == "gpu"; });
  if (options.is_gpu_named) {
    line.emplace_back("gpu", plan.gpu.name);
  }
  if (options.capacity) {
    line.emplace_back("capacity", std::to_string(options.capacity->count()));
  }
  if (options.alloc_conf) {
    line.emplace_back("alloc-conf", *options.alloc_conf);
  }
  std::string text = "highwater simulate";
  for (const auto& [option, value] : line) {
    text += " --" + option;
    // A flag takes its value behind an equals sign only.
    text += value == "true" ? "" : (value == "false" ? "=false" : " " + quoted(printable(value)));
  }
  return text;
}

}  // namespace highwater
