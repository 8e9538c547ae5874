#include "sim/peak/segment_rows.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

namespace highwater {
namespace {

/// A segment with the owners of its blocks.
struct OwnedSegment {
  const MapSegment* segment = nullptr;
  std::span<const AllocationId> owners;
};

std::vector<OwnedSegment> with_owners(const MemoryMap& map, std::span<const AllocationId> owners) {
  std::vector<OwnedSegment> result;
  std::size_t begin = 0;
  for (const MapSegment& segment : map.segments) {
    const bool known = begin + segment.blocks.size() <= owners.size();
    result.push_back({&segment, known ? owners.subspan(begin, segment.blocks.size())
                                      : std::span<const AllocationId>{}});
    begin += segment.blocks.size();
  }
  return result;
}

MapCell cell_of(const MapBlock& block, AllocationId owner) {
  switch (block.state) {
    case BlockState::active_allocated:
      return {CellKind::active, block.size, block.requested, block.size, owner};
    case BlockState::active_pending_free:
      return {CellKind::pending, block.size, block.requested, block.size, owner};
    case BlockState::inactive:
      break;
  }
  return {.kind = CellKind::free, .size = block.size, .requested = {}, .used = {}, .owner = {}};
}

void join(MapCell& cell, const MapCell& next) {
  cell.kind = cell.kind == next.kind ? cell.kind : CellKind::mixed;
  cell.size += next.size;
  cell.requested += next.requested;
  cell.used += next.used;
  cell.owner = AllocationId::none();
  cell.blocks += next.blocks;
}

std::vector<MapCell> cells_of(const OwnedSegment& owned, std::uint64_t resolution) {
  const Bytes narrow = owned.segment->size / resolution;
  std::vector<MapCell> cells;
  for (std::size_t i = 0; i < owned.segment->blocks.size(); ++i) {
    const AllocationId owner = owned.owners.empty() ? AllocationId::none() : owned.owners[i];
    const MapCell cell = cell_of(owned.segment->blocks[i], owner);
    const bool joins = !cells.empty() && cell.size < narrow && cells.back().size < narrow;
    if (joins) {
      join(cells.back(), cell);
    } else {
      cells.push_back(cell);
    }
  }
  return cells;
}

void add(SegmentSums& sums, const MapSegment& segment) {
  ++sums.segments;
  sums.size += segment.size;
  for (const MapBlock& block : segment.blocks) {
    Bytes& part = block.state == BlockState::active_allocated      ? sums.active
                  : block.state == BlockState::active_pending_free ? sums.pending
                                                                   : sums.free;
    part += block.size;
  }
}

SegmentRow row_of(const OwnedSegment& owned, std::uint64_t resolution) {
  const MapSegment& segment = *owned.segment;
  SegmentRow row{.address = segment.address,
                 .stream = segment.stream,
                 .kind = segment.kind,
                 .owner = segment.owner,
                 .is_expandable = segment.is_expandable,
                 .sums = {},
                 .largest_free_block = {},
                 .cells = cells_of(owned, resolution)};
  add(row.sums, segment);
  for (const MapBlock& block : segment.blocks) {
    if (block.state == BlockState::inactive) {
      row.largest_free_block = std::max(row.largest_free_block, block.size);
    }
  }
  return row;
}

bool looks_like(const MapCell& a, const MapCell& b) {
  return a.kind == b.kind && a.size == b.size && a.requested == b.requested && a.used == b.used &&
         a.blocks == b.blocks;
}

/// Whoever owns the blocks: rows of one picture.
bool is_alike(const SegmentRow& a, const SegmentRow& b) {
  return a.stream == b.stream && a.kind == b.kind && a.owner == b.owner &&
         a.is_expandable == b.is_expandable && std::ranges::equal(a.cells, b.cells, looks_like);
}

void add(SegmentSums& sums, const SegmentSums& more) {
  sums.segments += more.segments;
  sums.size += more.size;
  sums.active += more.active;
  sums.pending += more.pending;
  sums.free += more.free;
}

/// Free bytes that cannot be given back because something else in the segment is in use.
Bytes pinned_in(const OwnedSegment& owned) {
  Bytes free;
  for (const MapBlock& block : owned.segment->blocks) {
    free += block.state == BlockState::inactive ? block.size : Bytes{};
  }
  return free < owned.segment->size ? free : Bytes{};
}

/// In the order in which they get rows: first some with the most pinned bytes, which matter
/// most, then by size.
std::vector<OwnedSegment> by_interest(std::vector<OwnedSegment> segments, std::size_t rows) {
  const auto size = [](const OwnedSegment& owned) { return owned.segment->size; };
  const auto middle =
      segments.begin() + static_cast<std::ptrdiff_t>(std::min(segments.size(), rows * 3 / 5));
  std::ranges::stable_sort(segments, std::ranges::greater{}, pinned_in);
  std::ranges::stable_sort(std::ranges::subrange(middle, segments.end()), std::ranges::greater{},
                           size);
  return segments;
}

}  // namespace

SegmentRows segment_rows(const MemoryMap& map, std::span<const AllocationId> owners,
                         const RowLimits& limits) {
  SegmentRows result;
  std::map<std::tuple<PoolId, PoolKind, StreamId>, SegmentRest> rests;
  std::size_t cells = 0;
  for (const OwnedSegment& owned : by_interest(with_owners(map, owners), limits.rows)) {
    const SegmentRow row = row_of(owned, limits.resolution);
    const auto alike = std::ranges::find_if(
        result.rows, [&](const SegmentRow& other) { return is_alike(other, row); });
    if (alike != result.rows.end()) {
      add(alike->sums, row.sums);
    } else if (result.rows.size() < limits.rows && cells < limits.cells) {
      cells += row.cells.size();
      result.rows.push_back(row);
    } else {
      SegmentRest& rest = rests[{row.owner, row.kind, row.stream}];
      rest.stream = row.stream;
      rest.kind = row.kind;
      rest.owner = row.owner;
      add(rest.sums, row.sums);
    }
  }
  std::ranges::sort(result.rows, {}, &SegmentRow::address);
  for (auto& [key, rest] : rests) {
    result.rests.push_back(rest);
  }
  return result;
}

}  // namespace highwater
