// What the parts of a run in shards may say of its command.
//
// A part comes from another machine, and whoever can write to a shared folder can make one up. So
// its command is data: an option is taken only if it is known to be a value. What names a program,
// a Python or an output is not, and neither is an option that stands in no list.
#pragma once

#include <span>
#include <string_view>

#include <boost/program_options/parsers.hpp>

#include "tools/options/command_line.hpp"

namespace highwater {

/// The options, besides those of a plan, whose values change nothing but the answer.
std::span<const std::string_view> options_of_values();

/// The options that say what of the work is done here, and where results go. A part has none.
std::span<const std::string_view> options_of_place();

/// Looks at the command line of a shard, and at the one that comes with the parts of a merge.
/// @throws UsageError for a shard whose parts could not be merged; InputError for parts that ask
/// for more than values
void check_part_words(const Command& command, const boost::program_options::parsed_options& words);

}  // namespace highwater
