// The allocator's statistics under PyTorch's names (torch.cuda.memory_stats).
//
// The hot counters keep current value, peak and total increase; the total decrease follows from
// them, and the `all` totals from the two pools, so an operation touches few words.
// Source: DeviceStats of c10/core/CachingDeviceAllocator.h, PyTorch 2.6.0.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "allocator/size_policy.hpp"

namespace highwater {

enum class Stat : std::uint8_t {
  allocation,
  segment,
  active,
  inactive_split,
  allocated_bytes,
  reserved_bytes,
  active_bytes,
  inactive_split_bytes,
  requested_bytes,
};

inline constexpr std::size_t kStatCount = 9;

/// "allocation", "reserved_bytes", ...
std::string_view to_string(Stat stat);

/// One line of memory_stats: torch's current, peak, allocated and freed.
struct StatValue {
  std::int64_t current = 0;
  std::int64_t peak = 0;
  std::int64_t allocated = 0;
  std::int64_t freed = 0;

  bool operator==(const StatValue&) const = default;

  void change(std::int64_t amount) {
    current += amount;
    peak = std::max(peak, current);
    (amount > 0 ? allocated : freed) += amount > 0 ? amount : -amount;
  }

  void reset_peak() { peak = current; }
};

/// Counters that only grow.
struct Counters {
  std::int64_t num_alloc_retries = 0;     ///< attempts after the whole cache was released
  std::int64_t num_ooms = 0;              ///< OutOfMemoryErrors
  std::int64_t num_sync_all_streams = 0;  ///< times all outstanding events were waited for
  std::int64_t num_device_alloc = 0;      ///< segments allocated and ranges mapped
  std::int64_t num_device_free = 0;       ///< segments freed and ranges unmapped
  // Not in memory_stats: the same counts by kind, for reports.
  std::int64_t segment_map = 0;
  std::int64_t segment_unmap = 0;

  bool operator==(const Counters&) const = default;
};

class Statistics {
 public:
  void increase(Stat stat, PoolKind kind, std::int64_t amount) {
    Hot& pool = pools_[static_cast<std::size_t>(kind)][static_cast<std::size_t>(stat)];
    pool.current += amount;
    pool.peak = std::max(pool.peak, pool.current);
    pool.allocated += amount;
    Total& all = all_[static_cast<std::size_t>(stat)];
    all.current += amount;
    all.peak = std::max(all.peak, all.current);
  }

  void decrease(Stat stat, PoolKind kind, std::int64_t amount) {
    pools_[static_cast<std::size_t>(kind)][static_cast<std::size_t>(stat)].current -= amount;
    all_[static_cast<std::size_t>(stat)].current -= amount;
  }

  void increase(Stat stat, PoolKind kind, Bytes amount) {
    increase(stat, kind, static_cast<std::int64_t>(amount.count()));
  }

  void decrease(Stat stat, PoolKind kind, Bytes amount) {
    decrease(stat, kind, static_cast<std::int64_t>(amount.count()));
  }

  /// Increase or decrease by sign; zero touches nothing.
  void change(Stat stat, PoolKind kind, std::int64_t amount) {
    if (amount > 0) {
      increase(stat, kind, amount);
    } else if (amount < 0) {
      decrease(stat, kind, -amount);
    }
  }

  void reset_peaks();

  [[nodiscard]] std::int64_t current(Stat stat) const {
    return all_[static_cast<std::size_t>(stat)].current;
  }

  [[nodiscard]] Bytes current_bytes(Stat stat) const {
    return Bytes{static_cast<std::uint64_t>(current(stat))};
  }

  [[nodiscard]] StatValue all(Stat stat) const;
  [[nodiscard]] StatValue of(Stat stat, PoolKind kind) const;

  StatValue oversize_allocations;
  StatValue oversize_segments;
  Counters counters;

 private:
  struct Hot {
    std::int64_t current = 0;
    std::int64_t peak = 0;
    std::int64_t allocated = 0;
  };

  struct Total {
    std::int64_t current = 0;
    std::int64_t peak = 0;
  };

  std::array<std::array<Hot, kStatCount>, 2> pools_{};
  std::array<Total, kStatCount> all_{};
};

}  // namespace highwater
