// A launch line taken apart: what starts the processes, which program runs, and its options.
//
// Sources of the launchers' forms: torch 2.15 distributed/run.py, accelerate 1.15
// commands/launch.py, deepspeed 0.19 launcher/runner.py, torchtune 0.6 _cli/run.py, trl 1.16 cli,
// LLaMA-Factory cli.py, axolotl cli/main.py, srun(1).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/sources/settings/setting.hpp"
#include "workloads/sources/settings/shell_script.hpp"

namespace highwater {

struct LaunchLine {
  std::string launcher;  ///< "torchrun", "accelerate", ...; empty: Python alone
  std::string program;   ///< "pretrain_gpt.py", "llamafactory-cli train": without folders
  SettingList launcher_options;
  SettingList options;      ///< of the program; words without a dash are called "argument"
  SettingList environment;  ///< variables that the line or its script sets
  /// Of them, those whose value depends on what the script does not say (shell_branches.hpp).
  std::vector<std::string> ambiguous;
  std::vector<std::string> cut_lines;  ///< of the script (shell_script.hpp)
};

/// The launch line in a script or a line: the command with the most options that runs a Python
/// script or one of the tools. @throws InputError if there is none
LaunchLine read_launch_line(std::string_view script, const std::string& file,
                            const ShellEnvironment& environment = {});

/// A script with its arguments: "bash train.sh 7B 8".
struct ScriptCall {
  std::string script;
  ShellEnvironment arguments;  ///< under "1", "2", ..., and what stands in front of the line
};

/// Absent if the line runs no script of that kind.
std::optional<ScriptCall> read_script_call(std::string_view line, const std::string& file);

}  // namespace highwater
