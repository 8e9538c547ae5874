// Derives what the program asked for from a recording: the request trace of one recorded device.
//
// Recorded entries are effects. The requests behind them are: one alloc or oom entry is one
// allocation, with the segment entries directly before it; a free_requested is one free, and if its
// free_completed does not follow at once, the block was used on other streams: each such block
// waits on a stream of its own (a synthetic one) that is done when the completion was recorded;
// segments released without an allocation after them are an empty_cache. Blocks older than the
// recording are found by their frees and in the final segments.
// Source of the order rules: SNAPSHOT_FORMAT sections 3 and 4 of the project's documentation,
// record_trace calls of c10/cuda/CUDACachingAllocator.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "allocator/memory_map.hpp"
#include "allocator/settings/settings.hpp"
#include "sim/recordings/entry_range.hpp"
#include "traces/pool_options.hpp"
#include "traces/recording.hpp"
#include "traces/request_trace.hpp"

namespace highwater {

/// What the derivation had to assume or could not use.
struct DerivationReport {
  std::uint64_t entries_read = 0;
  std::uint64_t entries_dropped = 0;          ///< unknown action, or could not be paired
  std::uint64_t initial_blocks = 0;           ///< older than the recording
  std::uint64_t initial_blocks_doubtful = 0;  ///< whose real size the file does not show
  std::uint64_t implicit_frees = 0;           ///< an alloc at an address that was still live
  std::uint64_t failed_requests = 0;          ///< oom entries
  std::uint64_t deferred_frees = 0;           ///< frees that waited for other streams
  bool truncated = false;                     ///< older entries are missing
  std::vector<std::string> problems;          ///< contradictions inside the file, as sentences
};

struct DerivedTrace {
  RequestTrace requests;                  ///< from the first entry on; header: recorded settings
  MemoryMap initial;                      ///< the state before the first entry
  std::vector<AllocationId> initial_ids;  ///< per block of `initial` in order, none if inactive
  std::vector<StackId> initial_stacks;    ///< per block of `initial`, where known
  std::map<PoolId, PoolOptions> pools;    ///< those whose options are not the defaults
  std::vector<Address> addresses;         ///< by AllocationId: where the recording put it
  std::vector<std::uint32_t> entry_ends;  ///< by event: one past the last entry it accounts for
  std::vector<std::size_t> possible_empty_caches;  ///< events that an empty_cache may precede
  DerivationReport report;

  /// Whether the recording shows that this request ran out of memory.
  [[nodiscard]] bool failed(AllocationId id) const { return addresses[id.index()] == Address{}; }

  /// Event::value of a pool_begin of `pool`.
  [[nodiscard]] std::uint64_t options_of(PoolId pool,
                                         SessionKind kind = SessionKind::routed) const {
    const auto known = pools.find(pool);
    return value_of(known == pools.end() ? PoolOptions{} : known->second, kind);
  }

  [[nodiscard]] EntryRange entries_of(std::size_t event) const {
    return {event == 0 ? 0 : entry_ends[event - 1], entry_ends[event]};
  }
};

/// `settings` are those the recording ran under; they decide the sizes of blocks that are older.
DerivedTrace derive_requests(const Recording& recording, const RecordedDevice& device,
                             const Settings& settings);

}  // namespace highwater
