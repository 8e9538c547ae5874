// The programs whose configuration files and launch lines are read, one row each.
//
// A new program is a file in workloads/facts/programs and a row in programs.cpp; what needs code is
// a file with its readers, in a room below this one.
#pragma once

#include <span>
#include <string>

#include "workloads/sources/rules/program_row.hpp"
#include "workloads/sources/settings/launch_line.hpp"

namespace highwater {

/// All that train; where two know a file's keys equally well, the first is taken.
std::span<const Program* const> programs();

/// What starts their processes, by the name of the command, and "environment": the variables that
/// PyTorch reads.
std::span<const Program* const> launchers();

/// The names of those that are read, with commas between.
std::string names_of_programs();

/// The program whose rules know most of the keys. @throws InputError naming the programs if none
/// knows any
const Program& program_of(const SettingList& settings, const std::string& file);

/// Whether any of them knows one of the keys.
bool is_of_some_program(const SettingList& settings);

/// The program that a launch line starts: by its script, else by its options; nullptr if neither
/// tells.
const Program* find_program(const LaunchLine& line);

/// @throws InputError for a key that stands twice in a file of a program that refuses such files
void check_repeated_key(const Program& program, const SettingList& settings,
                        const std::string& file);

/// The plan in settings of `program`. @throws InputError
PlanSource plan_of_program(const Program& program, const SettingList& settings,
                           const std::string& file);

/// The plan in a configuration file. @throws InputError
PlanSource plan_of_settings(const SettingList& settings, const std::string& file);

/// What a launch line says before its program: the variables that it sets and its launcher's
/// options.
PlanSource plan_of_launcher(const LaunchLine& line, const std::string& file);

/// The plan in a launch line: variables that it sets, its launcher's and its program's options.
/// @throws InputError
PlanSource plan_of_launch(const LaunchLine& line, const std::string& file);

/// The same where find_program() has been asked: `program` is its answer.
PlanSource plan_of_launch(const LaunchLine& line, const Program* program, const std::string& file);

}  // namespace highwater
