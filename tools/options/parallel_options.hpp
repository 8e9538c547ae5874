// The options that say how a plan is spread over ranks: sizes of the axes, and what each kind of
// data, tensor, pipeline, context and expert parallelism can be told.
#pragma once

#include "tools/options/command_line.hpp"
#include "tools/options/plan_reader.hpp"
#include "workloads/plan/parallelism.hpp"

namespace highwater {

/// Adds them to `parser`, in the order of --help.
void add_parallel_options(OptionParser& parser);

void read_parallel_options(PlanReader& reader, Parallelism& parallel);

}  // namespace highwater
