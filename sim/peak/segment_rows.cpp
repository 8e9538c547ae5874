#include "sim/peak/segment_rows.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include <boost/container_hash/hash.hpp>
#include <boost/unordered/unordered_flat_map.hpp>

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

/// Drawn alike; who owns the blocks does not count.
bool looks_like(const MapCell& a, const MapCell& b) {
  return a.kind == b.kind && a.size == b.size && a.requested == b.requested && a.used == b.used &&
         a.blocks == b.blocks;
}

bool looks_like(const SegmentRow& a, const SegmentRow& b) {
  const auto cells_alike = [](const MapCell& x, const MapCell& y) { return looks_like(x, y); };
  return a.stream == b.stream && a.kind == b.kind && a.owner == b.owner &&
         a.is_expandable == b.is_expandable && std::ranges::equal(a.cells, b.cells, cells_alike);
}

/// Equal for rows that look alike.
std::size_t hash_of(const SegmentRow& row) {
  std::size_t hash = row.stream.value();
  boost::hash_combine(hash, static_cast<unsigned>(row.kind));
  boost::hash_combine(hash, row.owner.capture);
  boost::hash_combine(hash, row.owner.user);
  for (const MapCell& cell : row.cells) {
    boost::hash_combine(hash, static_cast<unsigned>(cell.kind));
    boost::hash_combine(hash, cell.size.count());
    boost::hash_combine(hash, cell.used.count());
  }
  return hash;
}

void add(SegmentSums& sums, const SegmentSums& more) {
  sums.segments += more.segments;
  sums.size += more.size;
  sums.active += more.active;
  sums.pending += more.pending;
  sums.free += more.free;
}

/// One row for all segments that are drawn alike: the first of them, with the sums of all.
std::vector<SegmentRow> folded_rows(const MemoryMap& map, std::span<const AllocationId> owners,
                                    std::uint64_t resolution) {
  std::vector<SegmentRow> rows;
  boost::unordered_flat_map<std::size_t, std::vector<std::size_t>> by_hash;
  for (const OwnedSegment& owned : with_owners(map, owners)) {
    SegmentRow row = row_of(owned, resolution);
    std::vector<std::size_t>& candidates = by_hash[hash_of(row)];
    const auto alike =
        std::ranges::find_if(candidates, [&](std::size_t i) { return looks_like(rows[i], row); });
    if (alike != candidates.end()) {
      add(rows[*alike].sums, row.sums);
    } else {
      candidates.push_back(rows.size());
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

/// Free bytes that cannot be given back because something else in their segment is in use.
Bytes pinned_in(const SegmentRow& row) {
  return row.sums.free < row.sums.size ? row.sums.free : Bytes{};
}

/// In the order in which they are shown: first some with the most pinned bytes, which matter most,
/// then by size.
void sort_by_interest(std::vector<SegmentRow>& rows, std::size_t shown) {
  const auto size = [](const SegmentRow& row) { return row.sums.size; };
  const auto middle =
      rows.begin() + static_cast<std::ptrdiff_t>(std::min(rows.size(), shown * 3 / 5));
  std::ranges::stable_sort(rows, std::ranges::greater{}, pinned_in);
  std::ranges::stable_sort(std::ranges::subrange(middle, rows.end()), std::ranges::greater{}, size);
}

}  // namespace

SegmentRows segment_rows(const MemoryMap& map, std::span<const AllocationId> owners,
                         const RowLimits& limits) {
  SegmentRows result;
  std::map<std::tuple<PoolId, PoolKind, StreamId>, SegmentRest> rests;
  std::size_t cells = 0;
  std::vector<SegmentRow> rows = folded_rows(map, owners, limits.resolution);
  sort_by_interest(rows, limits.rows);
  for (SegmentRow& row : rows) {
    if (result.rows.size() < limits.rows && cells < limits.cells) {
      cells += row.cells.size();
      result.rows.push_back(std::move(row));
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
