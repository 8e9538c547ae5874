// Writes the report of `replay` in every format.
#pragma once

#include <iosfwd>
#include <vector>

#include "tools/studies/replay_run.hpp"
#include "tools/text/output_format.hpp"

namespace highwater {

/// `with_timeline`: memory over time as well; of effect in JSON only.
void write_replays(const std::vector<DeviceReplay>& replays, OutputFormat format,
                   bool with_timeline, std::ostream& out);

}  // namespace highwater
