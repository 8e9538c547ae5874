#include "tools/options/option_help.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "workloads/plan/options/framework_profile.hpp"
#include "workloads/plan/options/words.hpp"

namespace highwater {
namespace {

/// The option's words, if they are more than true and false.
std::string words_of(const Option& option) {
  const auto* words = std::get_if<AllowedWords>(&option.axis.allowed);
  return words != nullptr && !option.is_flag() ? fmt::format("{}", fmt::join(words->list, ", "))
                                               : "";
}

std::string default_of(const Option& option) {
  return option.default_text.empty() ? option.text(TrainingPlan{})
                                     : std::string(option.default_text);
}

std::string joined(std::string_view help, std::string_view separator, std::string_view more) {
  return fmt::format("{}{}{}", help, help.empty() || more.empty() ? "" : separator, more);
}

}  // namespace

std::string short_help(const Option& option) {
  const std::string help = joined(option.help, ": ", words_of(option));
  const std::string standard = default_of(option);
  return option.is_flag() && standard == "false" ? help : fmt::format("{} [{}]", help, standard);
}

std::vector<std::string> default_lines(const Option& option) {
  const std::string standard = default_of(option);
  std::vector<std::string> lines{
      option.source.empty() ? standard : fmt::format("default {} ({})", standard, option.source)};
  for (const FrameworkDefault& row : framework_defaults()) {
    if (row.option == option.name && row.word != option.text(TrainingPlan{})) {
      lines.push_back(
          fmt::format("{}: {} ({})", word_of(kFrameworks, row.framework), row.word, row.source));
    }
  }
  return lines;
}

std::vector<std::string> full_help(const Option& option) {
  const std::string help = joined(option.help, ": ", words_of(option));
  std::vector<std::string> lines{joined(help, "; ", option.more)};
  const std::vector<std::string> defaults = default_lines(option);
  lines.insert(lines.end(), defaults.begin(), defaults.end());
  return lines;
}

}  // namespace highwater
