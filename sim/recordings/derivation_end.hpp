// The end of a derivation: when every entry has been looked at, what is known of blocks that are
// older than the recording, of its header and of its contradictions goes into the derived trace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "allocator/settings/settings.hpp"
#include "sim/recordings/allocator_calls.hpp"
#include "sim/recordings/initial_state.hpp"
#include "sim/recordings/request_log.hpp"
#include "traces/recording.hpp"

namespace highwater {

/// What lives at an address while the entries are walked.
struct LiveBlock {
  AllocationId id;
  StreamId waiting_on;  ///< the synthetic stream of a deferred free, none while in use
};

/// By address.
using LiveBlocks = boost::unordered_flat_map<std::uint64_t, LiveBlock>;

/// What a derivation knows behind the last entry.
struct DerivationEnd {
  const RecordedDevice& device;
  const Settings& settings;
  const LiveBlocks& live;
  std::vector<OlderBlock> older;  ///< those that entries have shown
  std::size_t streams = 0;        ///< synthetic ones included
  const AllocatorCalls& calls;
};

/// Completes `log.trace`: initial state, header, report, handles of streams.
void finish_derivation(DerivationEnd end, RequestLog& log);

}  // namespace highwater
