// Closed forms: each metric on a state small enough to count by hand.
#include "sim/replay/fragmentation.hpp"

#include <catch2/catch.hpp>

using namespace highwater;
using namespace highwater::literals;

TEST_CASE("fragmentation: free memory is told apart by whether empty_cache returns it",
          "[sim][fragmentation]") {
  const BlockId used{std::uint32_t{1}};
  MemoryMap map;
  map.segments.resize(2);
  map.segments[0].size = 20_MiB;
  map.segments[0].blocks = {{Address{0}, 4_MiB, 3_MiB, BlockState::active_allocated, used},
                            {Address{4 << 20}, 16_MiB, 0_B, BlockState::inactive, {}}};
  map.segments[1].size = 48_MiB;
  map.segments[1].blocks = {{Address{1 << 30}, 48_MiB, 0_B, BlockState::inactive, {}}};
  const Fragmentation f = measure_fragmentation(map);
  CHECK(f.free == 64_MiB);
  CHECK(f.free_in_split == 16_MiB);
  CHECK(f.free_whole == 48_MiB);
  CHECK(f.largest_free_block == 48_MiB);
  CHECK(f.rounding == 1_MiB);
  CHECK(f.dispersion == Approx(1.0 - (16.0 * 16 + 48 * 48) / (64.0 * 64)));
}

TEST_CASE("fragmentation: nothing reserved is not fragmented", "[sim][fragmentation]") {
  CHECK(unused_share(0_B, 0_B) == 0);
  CHECK(unused_share(3_GiB, 4_GiB) == Approx(0.25));
  CHECK(measure_fragmentation(MemoryMap{}).dispersion == 0);
}
