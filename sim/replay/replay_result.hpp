// What a replay found, as data. Printing is left to tools/.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "allocator/memory_map.hpp"
#include "allocator/out_of_memory.hpp"
#include "allocator/statistics.hpp"
#include "sim/replay/decision_log.hpp"
#include "sim/replay/fragmentation.hpp"
#include "sim/replay/timeline.hpp"
#include "traces/units.hpp"

namespace highwater {

/// The four curves that describe an allocator from outside, at one moment or as peaks.
struct Usage {
  Bytes requested;  ///< asked for by the program, over active blocks
  Bytes allocated;  ///< blocks handed out
  Bytes active;     ///< the same plus blocks that wait for other streams
  Bytes reserved;   ///< taken from the device

  bool operator==(const Usage&) const = default;
};

/// What one owner's pools hold, the common ones' ({0, 0}) or a private one's.
struct PoolShare {
  PoolId owner;
  Bytes at_peak;    ///< of the device, when the highest reserved was first reached
  Bytes final;      ///< of the device, after the last event
  Bytes allocated;  ///< in blocks handed out, after the last event
};

/// Of the device, by all private pools.
struct PrivateShare {
  Bytes at_peak;
  Bytes final;
};

PrivateShare private_share(const std::vector<PoolShare>& pools);

struct ReplayCounts {
  std::uint64_t allocs = 0;        ///< allocation requests
  std::uint64_t frees = 0;         ///< free requests
  std::uint64_t device_alloc = 0;  ///< segments allocated and ranges mapped
  std::uint64_t device_free = 0;   ///< segments freed and ranges unmapped
  std::uint64_t segment_map = 0;
  std::uint64_t segment_unmap = 0;
  std::uint64_t alloc_retries = 0;
  std::uint64_t ooms = 0;
};

/// One failed allocation of the replay.
struct OomRecord {
  std::uint64_t operation = 0;
  OutOfMemory account;
};

/// What became of a second process on the same device (neighbour.hpp).
struct NeighbourResult {
  Usage peak;
  Usage final;
  Bytes context;            ///< of its CUDA context
  bool has_context = true;  ///< false: it did not fit, and the process never ran
  std::uint64_t ooms = 0;
  std::uint64_t alloc_retries = 0;
  Bytes device_peak;  ///< the most that was taken of the device, by both and that context
};

struct ReplayResult {
  Usage peak;              ///< highest values of the whole run, each at its own moment
  Usage at_peak_reserved;  ///< after the operation that first reached the highest reserved
  Usage final;
  std::vector<PoolShare> pools;  ///< the common ones first, then by id
  ReplayCounts counts;
  Fragmentation fragmentation;
  Statistics statistics;
  MemoryMap map;                ///< the state after the last event
  std::vector<OomRecord> ooms;  ///< the first kMaxOomRecords in full
  Timeline timeline;
  std::vector<NumberedDecision> decisions;  ///< if they were to be kept
  std::uint64_t operations = 0;
  std::uint64_t operations_repeated = 0;  ///< of these, counted only (fast_forward.hpp)
  std::uint64_t refused_empty_caches = 0;
  std::optional<NeighbourResult> beside;

  static constexpr std::size_t kMaxOomRecords = 16;
};

/// The peak of one replay.
struct ReplayBar {
  Bytes reserved;        ///< peak
  Bytes active;          ///< peak
  bool ran_out = false;  ///< out of memory: the peak is of a run that was cut off
};

ReplayBar bar_of(const ReplayResult& result);

}  // namespace highwater
