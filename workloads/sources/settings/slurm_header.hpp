// What "#SBATCH" lines of a job script say about nodes and GPUs, as the variables that Slurm sets
// from them in the job: launch lines count their processes with these.
//
// Source: sbatch(1) of Slurm 24.05, OPTIONS and OUTPUT ENVIRONMENT VARIABLES.
#pragma once

#include <string_view>

#include "workloads/sources/settings/shell_script.hpp"

namespace highwater {

ShellEnvironment slurm_variables(std::string_view script);

}  // namespace highwater
