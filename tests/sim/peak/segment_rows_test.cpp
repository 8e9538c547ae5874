// Memory maps made small: what is joined or summed is still all there.
#include "sim/peak/segment_rows.hpp"

#include <catch2/catch.hpp>

using namespace highwater;
using namespace highwater::literals;

namespace {

MapSegment segment(std::uint64_t address, std::vector<std::pair<BlockState, Bytes>> blocks) {
  MapSegment made;
  made.address = Address{address};
  made.stream = StreamId{std::uint32_t{0}};
  for (const auto& [state, size] : blocks) {
    made.blocks.push_back({Address{address + made.size.count()},
                           size,
                           state == BlockState::inactive ? Bytes{} : size,
                           state,
                           {}});
    made.size += size;
  }
  return made;
}

constexpr auto kFree = BlockState::inactive;
constexpr auto kActive = BlockState::active_allocated;
constexpr auto kPending = BlockState::active_pending_free;

}  // namespace

TEST_CASE("segment rows: blocks become cells with their owners", "[sim][rows]") {
  MemoryMap map;
  map.segments = {segment(0, {{kActive, 4_MiB}, {kPending, 6_MiB}, {kFree, 10_MiB}})};
  const std::vector<AllocationId> owners{AllocationId(7U), AllocationId::none(),
                                         AllocationId::none()};
  const SegmentRows view = segment_rows(map, owners);
  REQUIRE(view.rows.size() == 1);
  CHECK(view.rests.empty());
  const SegmentRow& row = view.rows[0];
  REQUIRE(row.cells.size() == 3);
  CHECK(row.cells[0].kind == CellKind::active);
  CHECK(row.cells[0].owner == AllocationId(7U));
  CHECK(row.cells[1].kind == CellKind::pending);
  CHECK(row.cells[2].kind == CellKind::free);
  CHECK(row.sums == SegmentSums{1, 20_MiB, 4_MiB, 6_MiB, 10_MiB});
  CHECK(row.largest_free_block == 10_MiB);
}

TEST_CASE("segment rows: blocks too narrow to be seen are joined, wide ones never", "[sim][rows]") {
  // A hundredth of 1000 KiB is wide enough: three blocks of 1 KiB are not.
  MemoryMap map;
  map.segments = {segment(
      0,
      {{kActive, 1_KiB}, {kFree, 1_KiB}, {kActive, 1_KiB}, {kActive, 400_KiB}, {kFree, 597_KiB}})};
  const SegmentRows view = segment_rows(map, {}, {.rows = 5, .cells = 100, .resolution = 100});
  const std::vector<MapCell>& cells = view.rows.at(0).cells;
  REQUIRE(cells.size() == 3);
  CHECK(cells[0].kind == CellKind::mixed);
  CHECK(cells[0].blocks == 3);
  CHECK(cells[0].size == 3_KiB);
  CHECK(cells[0].used == 2_KiB);
  CHECK(cells[1].blocks == 1);
  CHECK(cells[2].kind == CellKind::free);
}

TEST_CASE("segment rows: pinned bytes first, then size; rows by address, the rest summed by pool",
          "[sim][rows]") {
  MemoryMap map;
  map.segments = {segment(0, {{kActive, 2_MiB}}), segment(100, {{kFree, 30_MiB}}),
                  segment(200, {{kActive, 1_MiB}, {kFree, 1_MiB}}),
                  segment(300, {{kActive, 12_MiB}, {kFree, 8_MiB}})};
  map.segments[0].kind = map.segments[2].kind = PoolKind::small;
  const SegmentRows view = segment_rows(map, {}, {.rows = 2, .cells = 100, .resolution = 100});
  REQUIRE(view.rows.size() == 2);
  CHECK(view.rows[0].address == Address{100});
  CHECK(view.rows[1].address == Address{300});
  REQUIRE(view.rests.size() == 1);
  CHECK(view.rests[0].kind == PoolKind::small);
  CHECK(view.rests[0].sums == SegmentSums{2, 4_MiB, 3_MiB, 0_B, 1_MiB});
}

TEST_CASE("segment rows: the number of cells is bounded", "[sim][rows]") {
  std::vector<std::pair<BlockState, Bytes>> blocks;
  for (int i = 0; i < 100; ++i) {
    blocks.emplace_back(i % 2 == 0 ? kActive : kFree, 1_MiB);
  }
  MemoryMap map;
  for (std::uint64_t i = 0; i < 50; ++i) {
    blocks.front().second = Bytes{(100 + i) << 20U};
    map.segments.push_back(segment(i << 32U, blocks));
  }
  const SegmentRows view = segment_rows(map, {}, {.rows = 40, .cells = 1000, .resolution = 500});
  CHECK(view.rows.size() == 10);
  CHECK(view.rests.at(0).sums.segments == 40);
}

TEST_CASE("segment rows: segments that look alike share a row, whoever owns their blocks",
          "[sim][rows]") {
  MemoryMap map;
  map.segments = {segment(0, {{kActive, 12_MiB}, {kFree, 8_MiB}}),
                  segment(100, {{kActive, 12_MiB}, {kFree, 8_MiB}}),
                  segment(200, {{kFree, 8_MiB}, {kActive, 12_MiB}}),
                  segment(300, {{kActive, 12_MiB}, {kFree, 8_MiB}})};
  map.segments[3].stream = StreamId{std::uint32_t{1}};
  const std::vector<AllocationId> owners{AllocationId(0U), AllocationId::none(), AllocationId(1U),
                                         AllocationId::none()};
  const SegmentRows view = segment_rows(map, owners);
  REQUIRE(view.rows.size() == 3);
  CHECK(view.rows[0].address == Address{0});
  CHECK(view.rows[0].sums == SegmentSums{2, 40_MiB, 24_MiB, 0_B, 16_MiB});
  CHECK(view.rows[0].cells.size() == 2);
  CHECK(view.rows[0].largest_free_block == 8_MiB);
}

TEST_CASE("segment rows: segments that share a row take no room from others", "[sim][rows]") {
  MemoryMap map;
  std::uint64_t address = 0;
  const auto add = [&](const std::vector<std::pair<BlockState, Bytes>>& blocks) {
    map.segments.push_back(segment(address += std::uint64_t{1} << 32U, blocks));
  };
  for (int i = 0; i < 24; ++i) {
    add({{kActive, 12_MiB}, {kFree, 8_MiB}});
  }
  add({{kFree, 2_MiB}, {kActive, 2_MiB}});
  for (std::uint64_t i = 0; i < 40; ++i) {
    add({{kFree, Bytes{(100 + i) << 20U}}});
  }
  const SegmentRows view = segment_rows(map, {}, {.rows = 40, .cells = 1000, .resolution = 500});
  REQUIRE(view.rows.size() == 40);
  CHECK(view.rows[0].sums.segments == 24);
  CHECK(view.rows[1].sums == SegmentSums{1, 4_MiB, 2_MiB, 0_B, 2_MiB});
  CHECK(view.rests.at(0).sums.segments == 2);
}
