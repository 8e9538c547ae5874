// Rules: rounding, segment sizes and the split decision are exact at their edges.
// Expected values by hand from round_size, get_allocation_size and should_split of PyTorch 2.6.0.
#include "allocator/size_policy.hpp"

#include <catch2/catch.hpp>

using namespace highwater;
using namespace highwater::literals;

TEST_CASE("size_policy: requests round up to multiples of 512 bytes", "[allocator][size_policy]") {
  const auto [asked, rounded] = GENERATE(table<std::uint64_t, std::uint64_t>({
      {0, 512},
      {1, 512},
      {511, 512},
      {512, 512},
      {513, 1024},
      {1048575, 1048576},
      {1048576, 1048576},
      {1048577, 1049088},
      {10485249, 10485760},
  }));
  CAPTURE(asked);
  CHECK(round_size(Bytes{asked}, Settings{}) == Bytes{rounded});
}

TEST_CASE("size_policy: power-of-two divisions round between powers of two",
          "[allocator][size_policy]") {
  Settings settings;
  settings.roundup_power2_divisions.fill(4);
  const auto [asked, rounded] = GENERATE(table<std::uint64_t, std::uint64_t>({
      {1200, 1536},        // not above 512 * 4: multiples of 512
      {2048, 2048},        // not above 512 * 4
      {2049, 2560},        // step 2048 / 4 = 512
      {4096, 4096},        // powers of two stay
      {5000, 5120},        // step 4096 / 4 = 1024
      {1258291, 1310720},  // 1.2 MiB: step 256 KiB
      {1048577, 1310720},
  }));
  CAPTURE(asked);
  CHECK(round_size(Bytes{asked}, settings) == Bytes{rounded});
}

// 512 times 2^55 is 0, so round_size asks roundup_power2_next_division, whose step is 0.
TEST_CASE("size_policy: more divisions than a size has bytes round to powers of two",
          "[allocator][size_policy]") {
  Settings settings;
  settings.roundup_power2_divisions.fill(std::uint64_t{1} << 55);
  CHECK(round_size(100_B, settings) == 512_B);
  CHECK(round_size(512_B, settings) == 512_B);
  CHECK(round_size(513_B, settings) == 1_KiB);
  CHECK(round_size(5_KiB, settings) == 8_KiB);
}

TEST_CASE("size_policy: the divisions entry is chosen by the interval of the size",
          "[allocator][size_policy]") {
  CHECK(division_index(1_B) == 0);
  CHECK(division_index(Bytes{(2ULL << 20) - 1}) == 0);
  CHECK(division_index(2_MiB) == 1);
  CHECK(division_index(Bytes{(32ULL << 30) - 1}) == 14);
  CHECK(division_index(32_GiB) == 15);
  CHECK(division_index(4096_GiB) == 15);
}

TEST_CASE("size_policy: segments are 2 MiB, 20 MiB, or the request in steps of 2 MiB",
          "[allocator][size_policy]") {
  const auto [rounded, segment] = GENERATE(table<std::uint64_t, std::uint64_t>({
      {512, 2097152},
      {1048576, 2097152},
      {1049088, 20971520},
      {10485248, 20971520},
      {10485760, 10485760},
      {10486272, 12582912},
      {12582912, 12582912},
  }));
  CAPTURE(rounded);
  CHECK(segment_size(Bytes{rounded}, Settings{}) == Bytes{segment});
}

TEST_CASE("size_policy: small blocks split from 512 bytes, large ones above 1 MiB",
          "[allocator][size_policy]") {
  const Settings settings;
  CHECK_FALSE(should_split(PoolKind::small, 512_B, 0_B, settings));
  CHECK(should_split(PoolKind::small, 512_B, 512_B, settings));
  CHECK_FALSE(should_split(PoolKind::large, 2_MiB, 1_MiB, settings));
  CHECK(should_split(PoolKind::large, 2_MiB, 1_MiB + 512_B, settings));
}

TEST_CASE("size_policy: requests of max_split_size or more take whole blocks",
          "[allocator][size_policy]") {
  Settings settings;
  settings.max_split_size = 64_MiB;
  CHECK(should_split(PoolKind::large, 63_MiB, 10_MiB, settings));
  CHECK_FALSE(should_split(PoolKind::large, 64_MiB, 10_MiB, settings));
  settings.expandable_segments = true;
  CHECK(should_split(PoolKind::large, 64_MiB, 512_B, settings));
}
