#include "tools/program/defaults_file.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "tools/commands/commands.hpp"
#include "tools/options/defaults/default_words.hpp"
#include "traces/edit_distance.hpp"

namespace highwater {
namespace {

constexpr std::string_view kNoConfig = "--no-config";
constexpr const char* kRemedy = "mend or remove the line; --no-config leaves the file out";

/// What a run is about, what becomes of it, and parts of a run. No default can say that.
constexpr std::array<std::string_view, 11> kOfOneRun{
    "help",   "help-all", "from",   "model", "print-options", "shard",
    "resume", "baseline", "accept", "edit",  "device"};

std::filesystem::path& chosen_file() {
  static std::filesystem::path path;
  return path;
}

const OptionSummary* find_summary(const std::vector<OptionSummary>& options,
                                  const std::string& name) {
  const auto found = std::ranges::find(options, name, &OptionSummary::name);
  return found == options.end() ? nullptr : &*found;
}

/// The checks of one file: a command is asked for its options once.
class DefaultsCheck {
 public:
  explicit DefaultsCheck(const DefaultWords& defaults) : defaults_(&defaults) {}

  void run() {
    for (const DefaultWord& word : defaults_->words) {
      if (word.command.empty()) {
        check_for_all(word);
      } else {
        check_for_one(word);
      }
    }
  }

 private:
  [[noreturn]] void refuse(const DefaultWord& word, const std::string& problem) const {
    refuse_default_word(*defaults_, word, problem, kRemedy);
  }

  void check_for_all(const DefaultWord& word) {
    std::vector<std::string> names;
    for (const Command& each : commands()) {
      const std::vector<OptionSummary> options = options_of(each);
      if (const OptionSummary* const option = find_summary(options, word.option)) {
        check_option(word, *option);
        return;
      }
      std::ranges::transform(options, std::back_inserter(names), &OptionSummary::name);
    }
    refuse(word, fmt::format("{}: no command has such an option{}", word.option,
                             suggestion(word.option, names)));
  }

  void check_for_one(const DefaultWord& word) {
    const std::span<const Command> known = commands();
    const auto found = std::ranges::find(known, word.command, &Command::name);
    if (found == known.end()) {
      refuse(word, fmt::format("[{}]: unknown command{}", word.command,
                               suggestion(word.command, command_names())));
    }
    const std::vector<OptionSummary> options = options_of(*found);
    if (const OptionSummary* const option = find_summary(options, word.option)) {
      check_option(word, *option);
      return;
    }
    std::vector<std::string> names;
    std::ranges::transform(options, std::back_inserter(names), &OptionSummary::name);
    refuse(word, fmt::format("{}: highwater {} has no such option{}", word.option, word.command,
                             suggestion(word.option, names)));
  }

  void check_option(const DefaultWord& word, const OptionSummary& option) const {
    if (option.is_output || std::ranges::find(kOfOneRun, word.option) != kOfOneRun.end()) {
      refuse(word, fmt::format("{}: is of one run, and no default; give it on the command line",
                               word.option));
    }
    if (!option.has_value && word.values != std::vector<std::string>{"true"} &&
        word.values != std::vector<std::string>{"false"}) {
      refuse(word, fmt::format("{}: takes no value; use true or false", word.option));
    }
  }

  static std::vector<std::string> command_names() {
    std::vector<std::string> names;
    std::ranges::transform(commands(), std::back_inserter(names),
                           [](const Command& each) { return std::string(each.name); });
    return names;
  }

  static std::string suggestion(const std::string& name, const std::vector<std::string>& known) {
    const auto meant = nearest_word(name, known);
    return meant ? fmt::format(" (did you mean {}?)", *meant) : "";
  }

  const DefaultWords* defaults_;
};

/// Help is there whatever a file says.
bool asks_for_help(const Arguments& arguments) {
  constexpr std::array<std::string_view, 4> kWords{"help", "--help", "-h", "--help-all"};
  return std::ranges::find_first_of(arguments, kWords) != arguments.end();
}

}  // namespace

Arguments choose_defaults_file(Arguments arguments) {
  const auto rest = std::ranges::find(arguments, "--");
  const auto kept = std::remove(arguments.begin(), rest, kNoConfig);
  const bool is_left_out = kept != rest || asks_for_help({arguments.begin(), kept});
  chosen_file() = is_left_out ? std::filesystem::path() : default_words_path();
  arguments.erase(kept, rest);
  return arguments;
}

void read_defaults_file() {
  const std::filesystem::path path = std::exchange(chosen_file(), {});
  if (path.empty()) {
    return;
  }
  DefaultWords defaults = read_default_words(path);
  DefaultsCheck(defaults).run();
  use_default_words(std::move(defaults));
}

}  // namespace highwater
