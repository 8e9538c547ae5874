#include "tools/options/option_help.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "workloads/plan/options/aliases.hpp"
#include "workloads/plan/options/framework_profile.hpp"
#include "workloads/plan/options/words.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

constexpr std::size_t kAllWords = std::numeric_limits<std::size_t>::max();
constexpr std::size_t kFewWords = 10;

/// The option's words, if they are more than true and false; "..." stands for those beyond `most`.
std::string words_of(const Option& option, std::size_t most) {
  const auto* words = std::get_if<AllowedWords>(&option.axis.allowed);
  if (words == nullptr || option.is_flag()) {
    return "";
  }
  return fmt::format("{}{}", fmt::join(words->list.first(std::min(most, words->list.size())), ", "),
                     words->list.size() > most ? ", ..." : "");
}

std::string other_names(const Option& option) {
  std::vector<std::string> names;
  for (const OptionAlias& alias : option_aliases()) {
    if (alias.option == option.name) {
      names.push_back("--" + std::string(alias.name) +
                      (alias.value.empty() ? "" : fmt::format(" ({})", alias.value)));
    }
  }
  return names.empty() ? "" : fmt::format("also {}", fmt::join(names, ", "));
}

std::string other_words(const Option& option) {
  std::vector<std::string> words;
  for (const ValueAlias& alias : value_aliases()) {
    const bool is_other_spelling = alias.text == alias_key(alias.word);
    if (alias.option == option.name && !is_other_spelling) {
      words.push_back(fmt::format("{} ({})", alias.text, alias.word));
    }
  }
  return words.empty() ? "" : fmt::format("also {}", fmt::join(words, ", "));
}

std::string default_of(const Option& option) {
  return option.default_text.empty() ? option.text(default_plan())
                                     : std::string(option.default_text);
}

/// Where the default is from: the framework's row, or the option's own.
std::string_view source_of(const Option& option) {
  const Framework framework = default_plan().framework;
  for (const FrameworkDefault& row : framework_defaults()) {
    if (row.framework == framework && row.option == option.name) {
      return row.source;
    }
  }
  return option.source;
}

std::string joined(std::string_view help, std::string_view separator, std::string_view more) {
  return fmt::format("{}{}{}", help, help.empty() || more.empty() ? "" : separator, more);
}

}  // namespace

std::string short_help(const Option& option) {
  const std::string help = joined(option.help, ": ", words_of(option, kFewWords));
  const std::string standard = default_of(option);
  return option.is_flag() && standard == "false" ? help : fmt::format("{} [{}]", help, standard);
}

namespace {

/// A default of one framework or several, for the same reason.
struct SharedDefault {
  std::string frameworks;
  const FrameworkDefault* row;
};

/// Those of `option` that differ from a plain loop's.
std::vector<SharedDefault> shared_defaults(const Option& option) {
  std::vector<SharedDefault> shared;
  const TrainingPlan& plain = default_plan();
  for (const FrameworkDefault& row : framework_defaults()) {
    if (row.option != option.name || row.word == option.text(plain)) {
      continue;
    }
    const auto same = std::ranges::find_if(shared, [&](const SharedDefault& each) {
      return each.row->word == row.word && each.row->source == row.source;
    });
    if (same == shared.end()) {
      shared.push_back({std::string(word_of(kFrameworks, row.framework)), &row});
    } else {
      same->frameworks += fmt::format(", {}", word_of(kFrameworks, row.framework));
    }
  }
  return shared;
}

}  // namespace

std::vector<std::string> default_lines(const Option& option) {
  const std::string standard = default_of(option);
  const std::string_view source = source_of(option);
  std::vector<std::string> lines{source.empty() ? standard
                                                : fmt::format("default {} ({})", standard, source)};
  for (const SharedDefault& each : shared_defaults(option)) {
    lines.push_back(fmt::format("{}: {} ({})", each.frameworks, each.row->word, each.row->source));
  }
  if (source != option.source) {
    lines.push_back(
        fmt::format("other frameworks: {} ({})", option.text(TrainingPlan{}), option.source));
  }
  return lines;
}

std::vector<std::string> full_help(const Option& option) {
  const std::string help = joined(option.help, ": ", words_of(option, kAllWords));
  std::vector<std::string> lines{joined(help, "; ", option.more)};
  for (const std::string& others : {other_names(option), other_words(option)}) {
    if (!others.empty()) {
      lines.push_back(others);
    }
  }
  const std::vector<std::string> defaults = default_lines(option);
  lines.insert(lines.end(), defaults.begin(), defaults.end());
  return lines;
}

}  // namespace highwater
