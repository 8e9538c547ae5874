// A request trace: everything that was asked of one device, in order, without its answers.
//
// It comes from the generator, from a text or binary trace file, or is derived from a recording.
// Any allocator model, under any settings, can be driven with it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "traces/chunked_vector.hpp"
#include "traces/event.hpp"
#include "traces/ids.hpp"
#include "traces/release.hpp"
#include "traces/stack_table.hpp"
#include "traces/units.hpp"

namespace highwater {

/// How the simulated device chooses addresses; the names of the conformance vectors.
enum class AddressPolicy : std::uint8_t {
  never_reuse,  ///< addresses only grow
  lowest_fit,   ///< freed ranges are handed out again, lowest first fit
};

/// What a trace file records about the run besides its events. All of it can be overridden.
struct TraceHeader {
  std::string settings;            ///< the PYTORCH_CUDA_ALLOC_CONF string, may be empty
  std::optional<Bytes> capacity;   ///< device memory; absent = unlimited
  std::optional<double> fraction;  ///< torch.cuda.set_per_process_memory_fraction, if called
  AddressPolicy addresses = AddressPolicy::never_reuse;
  std::optional<Release> torch;  ///< whose requests these are; absent = not said

  bool operator==(const TraceHeader&) const = default;
};

struct RequestTrace {
  TraceHeader header;
  ChunkedVector<Event> events;
  std::vector<std::uint64_t> stream_handles;  ///< by StreamId, ascending; cudaStream_t as integers
  std::vector<PoolId> pools;                  ///< by PoolIndex
  std::vector<std::string> allocation_names;  ///< by AllocationId; empty: the id itself is the name
  std::size_t allocation_count = 0;           ///< ids are 0 .. allocation_count-1
  SideTables tables;

  /// The index of `pool`, which is added if it is new.
  PoolIndex index_of(PoolId pool) {
    const auto found = std::ranges::find(pools, pool);
    const auto index = static_cast<PoolIndex>(found - pools.begin());
    if (found == pools.end()) {
      pools.push_back(pool);
    }
    return index;
  }
};

/// Everything but the events, for a changed copy.
inline RequestTrace without_events(const RequestTrace& trace) {
  RequestTrace copy;
  copy.header = trace.header;
  copy.stream_handles = trace.stream_handles;
  copy.pools = trace.pools;
  copy.allocation_names = trace.allocation_names;
  copy.allocation_count = trace.allocation_count;
  copy.tables = trace.tables;
  return copy;
}

}  // namespace highwater
