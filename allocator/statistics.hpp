// The allocator's statistics under PyTorch's names (torch.cuda.memory_stats).
//
// The hot counters keep current value, peak and total increase; the total decrease follows from
// them, and all of `all` but its peaks from the two pools, so an operation touches few words.
// Source: DeviceStats of c10/core/CachingDeviceAllocator.h, PyTorch 2.6.0.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
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
    allocated += std::max<std::int64_t>(amount, 0);
    freed += std::max<std::int64_t>(-amount, 0);
  }

  void reset_peak() { peak = current; }

  /// Adds the totals gained since `before` another `times` times.
  void repeat(const StatValue& before, std::int64_t times) {
    allocated += (allocated - before.allocated) * times;
    freed += (freed - before.freed) * times;
  }
};

/// Counters that only grow.
struct Counters {
  std::int64_t num_alloc_retries = 0;     ///< attempts after the whole cache was released
  std::int64_t num_ooms = 0;              ///< OutOfMemoryErrors
  std::int64_t num_sync_all_streams = 0;  ///< how often all outstanding events were waited for
  std::int64_t num_device_alloc = 0;      ///< segments allocated and ranges mapped
  std::int64_t num_device_free = 0;       ///< segments freed and ranges unmapped
  // Not in memory_stats: the same counts by kind, for reports.
  std::int64_t segment_map = 0;
  std::int64_t segment_unmap = 0;

  bool operator==(const Counters&) const = default;
};

class Statistics {
 public:
  /// For every stat except the active ones, which follow from the calls below.
  void increase(Stat stat, PoolKind kind, std::int64_t amount) {
    Hot& pool = pools_[index(kind)][index(stat)];
    pool.current += amount;
    pool.allocated += amount;
    raise_peaks(stat, pool);
  }

  void decrease(Stat stat, PoolKind kind, std::int64_t amount) {
    pools_[index(kind)][index(stat)].current -= amount;
  }

  void increase(Stat stat, PoolKind kind, Bytes amount) {
    increase(stat, kind, static_cast<std::int64_t>(amount.count()));
  }

  void decrease(Stat stat, PoolKind kind, Bytes amount) {
    decrease(stat, kind, static_cast<std::int64_t>(amount.count()));
  }

  /// Increase or decrease by sign, without a branch on it: signs are unpredictable.
  void change(Stat stat, PoolKind kind, std::int64_t amount) {
    Hot& pool = pools_[index(kind)][index(stat)];
    pool.current += amount;
    pool.allocated += std::max<std::int64_t>(amount, 0);
    raise_peaks(stat, pool);
  }

  /// A block of `size` bytes is handed out for a request of `requested`.
  void hand_out(PoolKind kind, Bytes size, Bytes requested) {
    increase(Stat::allocation, kind, 1);
    increase(Stat::allocated_bytes, kind, size);
    increase(Stat::requested_bytes, kind, requested);
    if (pending_.blocks != 0) {
      raise_active_peaks(kind);
    }
  }

  /// A block is freed that no other stream uses.
  void free_at_once(PoolKind kind, Bytes size, Bytes requested) {
    decrease(Stat::allocation, kind, 1);
    decrease(Stat::allocated_bytes, kind, size);
    decrease(Stat::requested_bytes, kind, requested);
  }

  /// The program frees a block; it stays active until complete_free.
  void request_free(PoolKind kind, Bytes size) {
    decrease(Stat::allocation, kind, 1);
    decrease(Stat::allocated_bytes, kind, size);
    change_pending(kind, 1, static_cast<std::int64_t>(size.count()));
  }

  void complete_free(PoolKind kind, Bytes size, Bytes requested) {
    decrease(Stat::requested_bytes, kind, requested);
    change_pending(kind, -1, -static_cast<std::int64_t>(size.count()));
  }

  void reset_peaks();

  /// Adds what has changed since `before` another `times` times; no current value may differ.
  void repeat(const Statistics& before, std::uint64_t times);

  [[nodiscard]] std::int64_t current(Stat stat) const {
    switch (stat) {
      case Stat::active:
        return sum(Stat::allocation) + pending_.blocks;
      case Stat::active_bytes:
        return sum(Stat::allocated_bytes) + pending_.bytes;
      default:
        return sum(stat);
    }
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

  /// Active blocks are the allocated ones and those freed but pending. While none is pending, the
  /// active stats equal the allocated ones, so only peaks reached with some pending are kept here;
  /// the true peak is the larger of this one and the allocated one.
  struct Pending {
    std::int64_t blocks = 0;
    std::int64_t bytes = 0;
    std::int64_t active_peak = 0;
    std::int64_t active_bytes_peak = 0;
  };

  template <class Enum>
  static constexpr std::size_t index(Enum e) {
    return static_cast<std::size_t>(e);
  }

  /// Of both pools.
  [[nodiscard]] std::int64_t sum(Stat stat) const {
    return pools_[0][index(stat)].current + pools_[1][index(stat)].current;
  }

  /// Peaks rarely rise after a while, so a branch is cheaper than a store.
  void raise_peaks(Stat stat, Hot& pool) {
    if (pool.current > pool.peak) {
      pool.peak = pool.current;
    }
    if (sum(stat) > peaks_[index(stat)]) {
      peaks_[index(stat)] = sum(stat);
    }
  }

  void change_pending(PoolKind kind, std::int64_t blocks, std::int64_t bytes) {
    for (Pending* pending : {&pending_, &pool_pending_[index(kind)]}) {
      pending->blocks += blocks;
      pending->bytes += bytes;
    }
  }

  void raise_active_peaks(PoolKind kind);
  /// The active stat for the `value` of an allocated stat.
  [[nodiscard]] static StatValue with_pending(StatValue value, std::int64_t pending,
                                              std::int64_t peak);

  std::array<std::array<Hot, kStatCount>, 2> pools_{};
  std::array<std::int64_t, kStatCount> peaks_{};  ///< of both pools together
  Pending pending_;
  std::array<Pending, 2> pool_pending_{};
};

}  // namespace highwater
