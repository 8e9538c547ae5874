// What one key of a program's configuration means for memory: a row of that program's table.
//
// Every key of a file ends as one of three things (../plan_source.hpp). A program (program_row.hpp)
// is a table of such rows, in a file of its own; ../programs/pytorch/torchtitan.cpp shows the form.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "workloads/plan/sources/plan_source.hpp"
#include "workloads/plan/sources/settings/key_pattern.hpp"
#include "workloads/plan/sources/settings/setting.hpp"

namespace highwater {

/// A value of the program and the option's word for it. Without a word the value changes nothing.
struct ValueWord {
  std::string_view value;
  std::string_view word;
};

/// Decides what becomes of a key that means something only with other keys of the file.
using ReadKey = void (*)(const Setting& setting, const SettingList& all, SourceKeys& keys);

struct KeyRule {
  enum class Use : std::uint8_t { option, no_effect, not_supported, context };

  /// As the program writes it, '-' and '_' alike; '*' stands for any characters ("metrics.*").
  std::string_view key;
  Use use;
  std::string_view text;  ///< option: its name; no effect: why; not supported: what it would change
  std::string_view off = {};  ///< not supported: values that change nothing, as "false|0|none"
  std::span<const ValueWord> words = {};  ///< option: what its values are called here
  ReadKey read = nullptr;                 ///< context
  std::string_view lacks = {};            ///< not supported: the option that it would have been
};

/// The key's value is the option's, null leaves the option alone.
constexpr KeyRule becomes(std::string_view key, std::string_view option,
                          std::span<const ValueWord> words = {}) {
  return {.key = key, .use = KeyRule::Use::option, .text = option, .words = words};
}

/// The key has no effect on memory, whatever its value.
constexpr KeyRule ignored(std::string_view key, std::string_view why) {
  return {.key = key, .use = KeyRule::Use::no_effect, .text = why};
}

/// The simulation has no words for the key. With one of the values `off` (null, false and an empty
/// list always are) it changes nothing.
constexpr KeyRule unsupported(std::string_view key, std::string_view what_it_changes,
                              std::string_view off = {}) {
  return {.key = key, .use = KeyRule::Use::not_supported, .text = what_it_changes, .off = off};
}

/// The key says which model, in a way that is not known here.
constexpr KeyRule unsupported_model(std::string_view key, std::string_view why) {
  return {.key = key, .use = KeyRule::Use::not_supported, .text = why, .lacks = "model"};
}

constexpr KeyRule by_context(std::string_view key, ReadKey read) {
  return {.key = key, .use = KeyRule::Use::context, .text = {}, .read = read};
}

/// Uses `word` for `option` if that option takes it, else lists the key as not supported with the
/// option's complaint. Options of commands (gpus, capacity, alloc-conf) are taken as they are.
void offer(const Setting& setting, std::string_view option, std::string word, SourceKeys& keys);

/// Carries out one rule.
void apply_rule(const KeyRule& rule, const Setting& setting, const SettingList& all,
                SourceKeys& keys);

}  // namespace highwater
