// The command line of `record`.
#pragma once

#include "tools/options/command_line.hpp"
#include "tools/record/record_request.hpp"

namespace highwater {

/// From the arguments of the command line: ours are in front of "--", the command behind it.
/// @throws UsageErrors
RecordRequest read_record_request(const Arguments& arguments);

}  // namespace highwater
