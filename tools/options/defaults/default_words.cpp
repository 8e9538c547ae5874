#include "tools/options/defaults/default_words.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/fleet/fleet.hpp"
#include "tools/fleet/launcher.hpp"
#include "traces/error.hpp"
#include "workloads/plan/options/option_table.hpp"
#include "workloads/sources/configuration_file.hpp"
#include "workloads/sources/settings/read_settings.hpp"

namespace highwater {
namespace {

namespace fs = std::filesystem;
namespace po = boost::program_options;

/// All of them set the limit, so one of a command line does without the others of the file.
constexpr std::array<std::string_view, 4> kLimits{"gpu", "capacity", "memory-limit",
                                                  "memory-fraction"};
constexpr std::array<std::string_view, 5> kOfMemory{"gpu", "capacity", "memory-limit",
                                                    "memory-fraction", "alloc-conf"};
/// A run in parts.
constexpr std::array<std::string_view, 3> kParts{"shard", "journal", "resume"};

struct DefaultsInUse {
  DefaultWords given;
  std::vector<DefaultWord> taken;
  std::size_t told = 0;  ///< of those taken
};

DefaultsInUse& in_use() {
  static DefaultsInUse defaults;
  return defaults;
}

template <class List>
bool is_one_of(const List& list, std::string_view name) {
  return std::ranges::find(list, name) != list.end();
}

template <class List>
bool has_one_of(const List& list, const po::variables_map& values) {
  return std::ranges::any_of(
      list, [&](std::string_view name) { return values.contains(std::string(name)); });
}

bool is_in_parts(const po::variables_map& values) {
  return has_one_of(kParts, values) || merged_parts() != nullptr || launched_processes() > 1;
}

bool looks_at_file(const po::variables_map& values) {
  return has_one_of(std::array<std::string_view, 2>{"file", "files"}, values);
}

/// Whether `word` says something about a recording that is looked at.
bool is_for_files(const DefaultWord& word) {
  const bool is_of_memory = is_one_of(kOfMemory, word.option);
  const bool is_of_plan = find_option(word.option) != nullptr;
  return word.command.empty() ? !is_of_memory && !is_of_plan : is_of_memory || !is_of_plan;
}

bool is_replaced(const DefaultWord& word, const po::variables_map& values) {
  return values.contains(word.option) ||
         (is_one_of(kLimits, word.option) && has_one_of(kLimits, values));
}

std::string as_option(const DefaultWord& word) {
  return fmt::format("--{} {}", word.option, fmt::join(word.values, ","));
}

fs::path folder_of(const char* variable, std::string_view below) {
  const char* const value = std::getenv(variable);
  return value == nullptr || *value == '\0' ? fs::path() : fs::path(value) / below;
}

/// "plan.gpus" is of the command plan, "gpu" of all.
DefaultWord word_of(const Setting& setting) {
  const std::size_t dot = setting.key.find('.');
  const bool is_of_command = dot != std::string::npos;
  DefaultWord word{
      is_of_command ? setting.key.substr(0, dot) : "",
      is_of_command ? setting.key.substr(dot + 1) : setting.key,
      setting.kind == SettingKind::list ? setting.items : std::vector<std::string>{setting.value},
      setting.line};
  std::ranges::replace(word.option, '_', '-');
  return word;
}

}  // namespace

fs::path default_words_path() {
  if (const char* const chosen = std::getenv("HIGHWATER_CONFIG"); chosen != nullptr) {
    return chosen;
  }
  const fs::path path = folder_of("XDG_CONFIG_HOME", "highwater/config.toml");
  return path.empty() ? folder_of("HOME", ".config/highwater/config.toml") : path;
}

DefaultWords read_default_words(const fs::path& path) {
  DefaultWords defaults{path.string(), {}};
  const std::optional<std::string> text = configuration_text(defaults.file);
  if (!text) {
    if (const char* const chosen = std::getenv("HIGHWATER_CONFIG");
        chosen != nullptr && path == chosen) {
      throw InputError(defaults.file, "", "no such file, though HIGHWATER_CONFIG names it",
                       "name another, or leave the variable empty for no defaults");
    }
    return defaults;
  }
  const SettingList settings = read_toml_settings(*text, defaults.file);
  std::ranges::transform(settings.list(), std::back_inserter(defaults.words), word_of);
  return defaults;
}

void refuse_default_word(const DefaultWords& defaults, const DefaultWord& word,
                         const std::string& problem, const std::string& remedy) {
  throw InputError(defaults.file, fmt::format("line {}", word.line), problem, remedy);
}

void use_default_words(DefaultWords defaults) {
  in_use() = {std::move(defaults), {}, 0};
}

std::vector<DefaultWord> default_words_beside(const po::variables_map& values,
                                              std::string_view command) {
  std::vector<DefaultWord> words;
  if (is_in_parts(values)) {
    return words;
  }
  const bool is_of_file = looks_at_file(values);
  const auto& given = in_use().given.words;
  std::ranges::copy_if(given, std::back_inserter(words), [&](const DefaultWord& word) {
    const bool has_own = word.command.empty() && std::ranges::any_of(given, [&](const auto& other) {
                           return other.command == command && other.option == word.option;
                         });
    return (word.command.empty() || word.command == command) && !has_own &&
           !is_replaced(word, values) && (!is_of_file || is_for_files(word));
  });
  return words;
}

void note_taken(const DefaultWord& word) {
  std::vector<DefaultWord>& taken = in_use().taken;
  if (std::ranges::find(taken, word.line, &DefaultWord::line) == taken.end()) {
    taken.push_back(word);
  }
}

std::string untold_default_words() {
  DefaultsInUse& defaults = in_use();
  std::vector<std::string> options;
  for (; defaults.told < defaults.taken.size(); ++defaults.told) {
    options.push_back(as_option(defaults.taken[defaults.told]));
  }
  return options.empty()
             ? ""
             : fmt::format("{} gives {}", defaults.given.file, fmt::join(options, ", "));
}

std::string with_its_default(std::string problem) {
  for (const DefaultWord& word : in_use().taken) {
    if (problem.find("--" + word.option) != std::string::npos) {
      problem +=
          fmt::format(" ({} is from {}, line {})", as_option(word), in_use().given.file, word.line);
    }
  }
  return problem;
}

}  // namespace highwater
