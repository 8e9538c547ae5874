// What one key of a program's configuration means for memory: a row of that program's file in
// workloads/facts/programs.
//
// Every key of a file ends as one of three things (../plan_source.hpp). What follows from a key
// alone is data; a key that means something only with others names a reader in C++
// (named_reader.hpp).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "workloads/sources/plan_source.hpp"
#include "workloads/sources/rules/named_reader.hpp"
#include "workloads/sources/settings/setting.hpp"

namespace highwater {

/// A value of the program and the option's word for it. Without a word the value changes nothing.
struct ValueWord {
  std::string_view value;
  std::string_view word;
};

/// Texts belong to the facts, which live as long as the program.
struct KeyRule {
  enum class Use : std::uint8_t { option, no_effect, not_supported, context };

  /// As the program writes it, '-' and '_' alike; '*' stands for any characters ("metrics.*").
  std::string_view key;
  Use use = Use::no_effect;
  std::string_view text;  ///< option: its name; no effect: why; not supported: what it would change
  std::vector<std::string_view> off = {};  ///< not supported: values that change nothing
  MemorySign sign = MemorySign::either;    ///< not supported
  std::vector<ValueWord> words = {};       ///< option: what its values are called here
  ReadKey read = nullptr;                  ///< context
  std::string_view lacks = {};             ///< not supported: the option that it would have been
};

/// Uses `word` for `option` if that option takes it, else lists the key as not supported with the
/// option's complaint. Options of commands (gpus, capacity, alloc-conf) are taken as they are.
void offer(const Setting& setting, std::string_view option, std::string word, SourceKeys& keys);

/// Carries out one rule. A value of null leaves an option alone; null, false, an empty text and an
/// empty list turn off what the simulation lacks.
void apply_rule(const KeyRule& rule, const Setting& setting, const SettingList& all,
                SourceKeys& keys);

}  // namespace highwater
