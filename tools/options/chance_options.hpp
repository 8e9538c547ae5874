// What chance decides about a run, and how often it is tried: --lengths, --runs, --seed and others.
#pragma once

#include "tools/options/command_line.hpp"
#include "tools/studies/chance/chance_run.hpp"

namespace highwater {

/// Adds them to the options of a plan or a file.
void add_chance_options(OptionParser& parser);

/// @throws UsageErrors with everything that is wrong, InputError for a file of lengths
ChanceQuestion read_chance_question(const boost::program_options::variables_map& values);

/// Whether a command line of `simulate` or `replay` asks for runs that differ by chance.
bool asks_about_chance(const Arguments& arguments);

}  // namespace highwater
