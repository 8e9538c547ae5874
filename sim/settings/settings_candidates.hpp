// The values of allocator options that are worth trying on a trace.
//
// An option acts only on some sizes: max_split_size_mb on requests of more than 20 MiB,
// garbage_collection_threshold only under a limit. Values that cannot change anything for this
// trace are not tried.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/replay/replay.hpp"
#include "traces/request_trace.hpp"

namespace highwater {

/// Whether the process may take less than the device has: garbage is collected only then.
enum class MemoryBound : std::uint8_t { unlimited, limited };

/// By a limit or a fraction; a capacity alone does not count.
MemoryBound memory_bound(const ReplayOptions& options);

/// One option and the values to try; the first is "default".
struct OptionValues {
  std::string option;
  std::vector<std::string> values;
};

/// Candidates of one option (expandable_segments, max_split_size_mb, roundup_power2_divisions,
/// garbage_collection_threshold); only "default" for one that cannot change anything here.
OptionValues candidate_values(std::string_view option, const RequestTrace& trace,
                              MemoryBound bound);

/// Those of all four options that can change something.
std::vector<OptionValues> candidate_values(const RequestTrace& trace, MemoryBound bound);

}  // namespace highwater
