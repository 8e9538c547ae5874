// The allocator's statistics under PyTorch's names (torch.cuda.memory_stats).
//
// The hot counters keep current value, peak and total increase; the total decrease follows from
// them, and the `all` totals from the two pools, so an operation touches few words. Source:
// DeviceStats of c10/core/CachingDeviceAllocator.h, PyTorch 2.6.0.
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
    (amount > 0 ? allocated : freed) += amount > 0 ? amount : -amount;
  }

  void reset_peak() { peak = current; }
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
    if (pool.current >
        pool.peak) {  // rarely true after a while, so a branch is cheaper than a store
      pool.peak = pool.current;
    }
    Total& all = all_[index(stat)];
    all.current += amount;
    if (all.current > all.peak) {
      all.peak = all.current;
    }
  }

  void decrease(Stat stat, PoolKind kind, std::int64_t amount) {
    pools_[index(kind)][index(stat)].current -= amount;
    all_[index(stat)].current -= amount;
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

  [[nodiscard]] std::int64_t current(Stat stat) const;

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
  std::array<Total, kStatCount> all_{};
  Pending pending_;
  std::array<Pending, 2> pool_pending_{};
};

}  // namespace highwater
