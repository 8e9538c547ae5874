// What --from names: a recording, a configuration file, a launch script or a launch line.
#pragma once

#include <string>
#include <vector>

#include "workloads/sources/plan_source.hpp"

namespace highwater {

/// Whether `text` is a configuration in Python, which only Python can evaluate: FILE.py,
/// FILE.py:function, or a launch line with torchtitan's --module and --config.
bool names_python_configuration(const std::string& text);

/// @pre names_python_configuration(text) @throws InputError
std::vector<PlanSource> read_python_configuration(const std::string& text,
                                                  const std::string& python);

/// The plan that `text` names, and those of the files that a launch line or script names. Text with
/// spaces is a launch line unless a file has that name. @pre !names_python_configuration(text)
/// @throws InputError
std::vector<PlanSource> read_plan_sources(const std::string& text);

}  // namespace highwater
