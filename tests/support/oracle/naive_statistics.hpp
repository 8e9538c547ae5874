// The statistics of the naive allocator: every value kept on its own, nothing derived.
#pragma once

#include <array>
#include <cstddef>

#include "allocator/size_policy.hpp"
#include "allocator/statistics.hpp"

namespace highwater::oracle {

class NaiveStatistics {
 public:
  void change(Stat stat, PoolKind kind, std::int64_t amount) {
    if (amount != 0) {
      value(stat, kAll).change(amount);
      value(stat, column(kind)).change(amount);
    }
  }

  void increase(Stat stat, PoolKind kind, Bytes amount) {
    change(stat, kind, static_cast<std::int64_t>(amount.count()));
  }

  void decrease(Stat stat, PoolKind kind, Bytes amount) {
    change(stat, kind, -static_cast<std::int64_t>(amount.count()));
  }

  void reset_peaks() {
    for (auto& row : values_) {
      for (StatValue& entry : row) {
        entry.reset_peak();
      }
    }
    oversize_allocations.reset_peak();
    oversize_segments.reset_peak();
  }

  [[nodiscard]] StatValue all(Stat stat) const {
    return values_[static_cast<std::size_t>(stat)][kAll];
  }

  [[nodiscard]] StatValue of(Stat stat, PoolKind kind) const {
    return values_[static_cast<std::size_t>(stat)][column(kind)];
  }

  StatValue oversize_allocations;
  StatValue oversize_segments;
  Counters counters;

 private:
  static constexpr std::size_t kAll = 0;

  static std::size_t column(PoolKind kind) { return 1 + static_cast<std::size_t>(kind); }

  StatValue& value(Stat stat, std::size_t which) {
    return values_[static_cast<std::size_t>(stat)][which];
  }

  std::array<std::array<StatValue, 3>, kStatCount> values_{};
};

}  // namespace highwater::oracle
