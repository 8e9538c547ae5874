// --max-expansion: how much larger a compressed file may become, for every command that reads one.
#pragma once

#include "tools/files/input.hpp"
#include "tools/options/command_line.hpp"

namespace highwater {

void add_reading_options(OptionParser& parser);

/// @throws UsageError
ReadingOptions read_reading_options(const boost::program_options::variables_map& values);

}  // namespace highwater
