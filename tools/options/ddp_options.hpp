// The options of DistributedDataParallel's communication hooks and of its search for unused
// parameters: their words, reading them and --help.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tools/options/command_line.hpp"
#include "tools/options/plan_reader.hpp"
#include "workloads/plan/ddp_options.hpp"

namespace highwater {

void add_ddp_options(OptionParser& parser);

void read_ddp_options(PlanReader& reader, Ddp& ddp);

/// Each option with its value, as reports show them.
std::vector<std::pair<std::string, std::string>> ddp_words(const Ddp& ddp);

}  // namespace highwater
