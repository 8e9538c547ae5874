// The options of commands whose work can be spread over processes and machines.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/fleet/fleet.hpp"
#include "tools/options/command_line.hpp"

namespace highwater {

/// Adds --shard, --output, --journal, --resume, --stall-after and --piece-times.
void add_fleet_options(OptionParser& parser);

/// `arguments` are all of the command's, without its name.
/// @throws UsageError for what cannot go together
FleetRequest read_fleet_options(const boost::program_options::variables_map& values,
                                std::string_view command, const Arguments& arguments);

}  // namespace highwater
