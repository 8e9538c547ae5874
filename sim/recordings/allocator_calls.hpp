// What the notes of a recording (traces/allocator_notes.hpp) say to whoever derives its requests.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "sim/recordings/entry_range.hpp"
#include "traces/pool_options.hpp"
#include "traces/recording.hpp"

namespace highwater {

/// What gave memory back to the device.
enum class ReleaseCause : std::uint8_t { unknown, empty_cache, allocation };

class AllocatorCalls {
 public:
  AllocatorCalls(const Recording& recording, int device);

  /// Of the first release among the entries, of which the last one is an allocation.
  [[nodiscard]] ReleaseCause cause_of_release(EntryRange entries) const;

  /// Whether each release of a pool is noted, and where each call ends.
  [[nodiscard]] bool are_exact() const { return is_exact_; }

  /// Whether the options of every pool are noted that is used after the first entry.
  [[nodiscard]] bool knows_pools() const { return noted_from_ == 0; }

  /// What the device had for the process, the cached memory included.
  [[nodiscard]] std::optional<Bytes> device_memory() const { return device_memory_; }

  /// Whether garbage_collection_threshold was among the settings of run time.
  [[nodiscard]] bool set_a_threshold() const { return set_a_threshold_; }

  /// Of pools whose options are known to differ from the defaults.
  [[nodiscard]] const std::map<PoolId, PoolOptions>& pools() const { return pools_; }

 private:
  std::vector<std::uint64_t> empty_caches_;  ///< ascending entries before which one was called
  std::vector<std::uint64_t> retries_;       ///< ... that an allocation released first
  std::optional<std::uint64_t> noted_from_;  ///< every empty_cache from this entry on is there
  bool is_exact_ = false;                    ///< ... and where each call ends
  std::optional<Bytes> device_memory_;
  bool set_a_threshold_ = false;
  std::map<PoolId, PoolOptions> pools_;
};

}  // namespace highwater
