// The rows of programs.cpp, each made in a file of its own.
#pragma once

#include "workloads/plan/sources/rules/program_row.hpp"

namespace highwater::program_table {

// What starts processes (launchers.cpp) ...
const Program& torchrun();
const Program& srun();
const Program& environment();

// ... and what trains.
const Program& torchtitan();
const Program& megatron();
const Program& megatron_others();
const Program& torchtune();

}  // namespace highwater::program_table
