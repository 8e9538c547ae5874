#include "workloads/sources/programs/rule_reading.hpp"

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "traces/edit_distance.hpp"
#include "traces/error.hpp"

namespace highwater {
namespace {

/// Names of a program's keys, for "did you mean".
std::vector<std::string> names_of_keys(const Program& program) {
  std::vector<std::string> names;
  for (const KeyRule& rule : program.keys.rules()) {
    if (rule.key.find('*') == std::string_view::npos) {
      names.emplace_back(rule.key);
    }
  }
  return names;
}

/// A key that stands twice: the last one counts.
bool is_overridden(const SettingList& settings, const Setting& setting) {
  return setting.is_replaced ||
         (setting.key != "argument" && settings.find(setting.key) != &setting);
}

/// "$@", "$*", "$1", "${@:2}": a script is read as it is called, here without arguments.
bool is_call_argument(const Setting& setting) {
  const std::size_t at = setting.value.starts_with("${") ? 2 : 1;
  return setting.key == "argument" && setting.value.starts_with('$') && at < setting.value.size() &&
         std::string_view("@*0123456789").find(setting.value[at]) != std::string_view::npos;
}

/// Reads all settings of one file by the rules of its program.
class SettingsReader {
 public:
  SettingsReader(const Program& program, const SettingList& all) : program_(&program), all_(&all) {}

  PlanSource read() {
    for (const Setting& setting : all_->list()) {
      keys_.are_defaults(setting.is_default);
      read_setting(setting);
    }
    keys_.are_defaults(false);
    for (const ProgramOption& implied : program_->implies) {
      offer({fmt::format("({})", implied.option), std::string(implied.because)}, implied.option,
            std::string(implied.word), keys_);
    }
    if (program_->finish != nullptr) {
      program_->finish(*all_, keys_);
    }
    return keys_.finish();
  }

 private:
  void read_setting(const Setting& setting) {
    const KeyRule* const rule = program_->keys.find(setting.key);
    if (is_overridden(*all_, setting)) {
      keys_.add_no_effect(setting.key, setting.value, "given again further down");
    } else if (is_call_argument(setting)) {
      keys_.add_no_effect(setting.key, setting.value, "what the script is called with");
    } else if (setting.key == "argument" && setting.value.starts_with('$')) {
      keys_.add_not_supported(setting.key, setting.value,
                              "options that a variable may hold, which the script does not set");
    } else if (rule == nullptr) {
      keys_.add_not_supported(setting.key, setting.value, why_unknown(setting.key));
    } else {
      apply_rule(*rule, setting, *all_, keys_);
    }
  }

  /// Why a key without a rule is not supported, with the one that was probably meant. Of a file
  /// with hundreds of them no key was meant.
  std::string why_unknown(const std::string& key) {
    constexpr std::size_t kMostMistakes = 200;
    std::string sentence = fmt::format("no key of {} that this program knows", program_->releases);
    if (++unknown_ > kMostMistakes) {
      return sentence;
    }
    if (names_.empty()) {
      names_ = names_of_keys(*program_);
    }
    const std::optional<std::string> meant = nearest_word(key, names_);
    return meant ? fmt::format("{}; did you mean {}?", sentence, *meant) : sentence;
  }

  const Program* program_;
  const SettingList* all_;
  SourceKeys keys_;
  std::size_t unknown_ = 0;
  std::vector<std::string> names_;
};

}  // namespace

PlanSource read_by_rules(const Program& program, const SettingList& all, const std::string& file) {
  try {
    PlanSource source = SettingsReader(program, all).read();
    source.file = file;
    return source;
  } catch (const InputError& error) {  // rules do not know the file whose keys they refuse
    if (!error.source().empty()) {
      throw;
    }
    throw InputError(file, error.where(), error.problem(), error.remedy());
  }
}

}  // namespace highwater
