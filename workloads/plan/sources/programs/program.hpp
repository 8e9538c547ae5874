// The programs whose configuration files and launch lines are read, one row each.
//
// A new program is a file with its table of rules and a row in programs.cpp.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "workloads/plan/sources/programs/key_rule.hpp"
#include "workloads/plan/sources/settings/launch_line.hpp"

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
  /// Adds what follows from several keys, when all are read: framework, strategy, model.
  void (*finish)(const SettingList& all, SourceKeys& keys) = nullptr;
};

/// All that train; where two know a file's keys equally well, the first is taken.
std::span<const Program> programs();

/// What starts their processes, by the name of the command, and "environment": the variables that
/// PyTorch reads.
std::span<const Program> launchers();

/// The names of programs(), with commas between.
std::string names_of_programs();

/// The program whose rules know most of the keys. @throws InputError naming the programs if none
/// knows any
const Program& program_of(const SettingList& settings, const std::string& file);

/// The program that a launch line starts: by its script, else by its options; nullptr if neither
/// tells.
const Program* find_program(const LaunchLine& line);

/// The plan in a configuration file. @throws InputError
PlanSource plan_of_settings(const SettingList& settings, const std::string& file);

/// The plan in a launch line: variables that it sets, its launcher's and its program's options.
/// @throws InputError
PlanSource plan_of_launch(const LaunchLine& line, const std::string& file);

}  // namespace highwater
