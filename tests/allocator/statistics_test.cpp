// Statistics: what memory_stats says after each kind of change, peaks with blocks pending included.
#include "allocator/statistics.hpp"

#include <catch2/catch.hpp>

using namespace highwater;
using namespace highwater::literals;

namespace {

constexpr StatValue stat_value(std::int64_t current, std::int64_t peak, std::int64_t allocated,
                               std::int64_t freed) {
  return {current, peak, allocated, freed};
}

}  // namespace

TEST_CASE("statistics: pools count for themselves and together", "[allocator][statistics]") {
  Statistics stats;
  stats.increase(Stat::segment, PoolKind::small, 2);
  stats.increase(Stat::segment, PoolKind::large, 3);
  stats.decrease(Stat::segment, PoolKind::small, 1);
  stats.change(Stat::segment, PoolKind::large, -2);
  stats.change(Stat::segment, PoolKind::large, 1);
  stats.change(Stat::segment, PoolKind::large, 0);
  CHECK(stats.of(Stat::segment, PoolKind::small) == stat_value(1, 2, 2, 1));
  CHECK(stats.of(Stat::segment, PoolKind::large) == stat_value(2, 3, 4, 2));
  CHECK(stats.all(Stat::segment) == stat_value(3, 5, 6, 3));
}

TEST_CASE("statistics: a block freed on other streams stays active until they are done",
          "[allocator][statistics]") {
  Statistics stats;
  stats.hand_out(PoolKind::large, 4_MiB, 3_MiB);
  stats.request_free(PoolKind::large, 4_MiB);
  CHECK(stats.all(Stat::allocation) == stat_value(0, 1, 1, 1));
  CHECK(stats.all(Stat::active) == stat_value(1, 1, 1, 0));
  CHECK(stats.current_bytes(Stat::allocated_bytes) == 0_B);
  CHECK(stats.current_bytes(Stat::active_bytes) == 4_MiB);
  CHECK(stats.current_bytes(Stat::requested_bytes) == 3_MiB);
  stats.complete_free(PoolKind::large, 4_MiB, 3_MiB);
  CHECK(stats.all(Stat::active) == stat_value(0, 1, 1, 1));
  CHECK(stats.current_bytes(Stat::active_bytes) == 0_B);
  CHECK(stats.current_bytes(Stat::requested_bytes) == 0_B);
}

TEST_CASE("statistics: pending blocks count in the active peak only", "[allocator][statistics]") {
  Statistics stats;
  stats.hand_out(PoolKind::large, 4_MiB, 4_MiB);
  stats.request_free(PoolKind::large, 4_MiB);
  stats.hand_out(PoolKind::large, 2_MiB, 2_MiB);
  stats.hand_out(PoolKind::small, 1_KiB, 1_KiB);
  CHECK(stats.of(Stat::active, PoolKind::large).peak == 2);
  CHECK(stats.of(Stat::active, PoolKind::small).peak == 1);
  CHECK(stats.all(Stat::active).peak == 3);
  CHECK(stats.all(Stat::allocation).peak == 2);
  CHECK(stats.of(Stat::active_bytes, PoolKind::large).peak == 6 << 20);
  CHECK(stats.all(Stat::active_bytes).peak == (6 << 20) + 1024);
  CHECK(stats.all(Stat::allocated_bytes).peak == 4 << 20);
}

TEST_CASE("statistics: peaks start again from what is there", "[allocator][statistics]") {
  Statistics stats;
  stats.hand_out(PoolKind::small, 2_KiB, 2_KiB);
  stats.hand_out(PoolKind::large, 4_MiB, 4_MiB);
  stats.hand_out(PoolKind::large, 2_MiB, 2_MiB);
  stats.free_at_once(PoolKind::large, 4_MiB, 4_MiB);
  stats.request_free(PoolKind::large, 2_MiB);
  stats.request_free(PoolKind::small, 2_KiB);
  stats.oversize_segments.change(2);
  stats.oversize_segments.change(-1);
  stats.oversize_allocations.change(3);
  stats.oversize_allocations.change(-1);
  stats.reset_peaks();
  CHECK(stats.all(Stat::allocation) == stat_value(0, 0, 3, 3));
  CHECK(stats.of(Stat::allocated_bytes, PoolKind::large).peak == 0);
  CHECK(stats.of(Stat::active, PoolKind::large).peak == 1);
  CHECK(stats.of(Stat::active, PoolKind::small).peak == 1);
  CHECK(stats.all(Stat::active).peak == 2);
  CHECK(stats.all(Stat::active_bytes).peak == (2 << 20) + 2048);
  CHECK(stats.oversize_segments == stat_value(1, 1, 2, 1));
  CHECK(stats.oversize_allocations == stat_value(2, 2, 3, 1));
}

TEST_CASE("statistics: what happened once is counted for as often as it is repeated",
          "[allocator][statistics]") {
  const auto happen = [](Statistics& stats) {
    for (const PoolKind kind : {PoolKind::small, PoolKind::large}) {
      stats.hand_out(kind, 2_KiB, 1_KiB);
      stats.hand_out(kind, 4_KiB, 3_KiB);
      stats.free_at_once(kind, 2_KiB, 1_KiB);
      stats.free_at_once(kind, 4_KiB, 3_KiB);
      stats.change(Stat::inactive_split, kind, 2);
      stats.change(Stat::inactive_split, kind, -2);
    }
    for (StatValue* oversize : {&stats.oversize_allocations, &stats.oversize_segments}) {
      oversize->change(3);
      oversize->change(0);
      oversize->change(-3);
    }
  };
  Statistics counted;
  counted.hand_out(PoolKind::large, 1_MiB, 1_MiB);
  Statistics carried_out = counted;
  const Statistics before = counted;
  happen(counted);
  counted.repeat(before, 4);
  for (int i = 0; i < 5; ++i) {
    happen(carried_out);
  }
  for (std::size_t i = 0; i < kStatCount; ++i) {
    const auto stat = static_cast<Stat>(i);
    CAPTURE(to_string(stat));
    CHECK(counted.all(stat) == carried_out.all(stat));
    CHECK(counted.of(stat, PoolKind::small) == carried_out.of(stat, PoolKind::small));
  }
  CHECK(counted.oversize_allocations == stat_value(0, 3, 15, 15));
  CHECK(counted.oversize_segments == stat_value(0, 3, 15, 15));
}

TEST_CASE("statistics: PyTorch's names", "[allocator][statistics]") {
  CHECK(to_string(Stat::allocation) == "allocation");
  CHECK(to_string(Stat::inactive_split_bytes) == "inactive_split_bytes");
  CHECK(to_string(Stat::requested_bytes) == "requested_bytes");
}
