// A program whose configuration is read: its table of rules, and how it is recognised.
#pragma once

#include <span>
#include <string_view>

#include "workloads/plan/sources/rules/key_rule.hpp"

namespace highwater {

/// What the program takes for a key that a file leaves out.
struct ProgramDefault {
  std::string_view key;
  std::string_view value;
};

struct Program {
  std::string_view name;           ///< "torchtitan"
  std::string_view releases;       ///< whose sources the rules follow: "torchtitan 0.1 to 0.3"
  std::span<const KeyRule> rules;  ///< the first that matches a key decides
  /// Scripts and tools that start it: "pretrain_gpt.py", "axolotl train"; '*' as in keys.
  std::span<const std::string_view> scripts = {};
  std::span<const ProgramDefault> defaults = {};
  /// Parts in front of keys that say nothing ("model_parallel."): the key counts without them.
  std::span<const std::string_view> sections = {};
  /// A key that each of its files has, with '*' as in keys; empty: there is none.
  std::string_view mark = {};
  /// In what words the program refuses a file with a key twice in one mapping; empty: the last one
  /// counts, as for Python's json.load() and PyYAML.
  std::string_view refuses_repeated_keys = {};
  /// Adds what follows from several keys, when all are read: framework, strategy, model.
  void (*finish)(const SettingList& all, SourceKeys& keys) = nullptr;
};

}  // namespace highwater
