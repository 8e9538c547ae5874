// A memory map made small enough to draw: some segments with their blocks, the rest summed.
//
// Neighbouring blocks that are too narrow to be seen at the row's width become one cell with
// its used bytes. Segments that are drawn alike share a row. Most rows go to those in use that have
// the most free bytes, the others to the largest, over all that share the row; what is beyond the
// limit is summed by pool and stream. Nothing is lost: rows and rests add up to the map.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "allocator/memory_map.hpp"
#include "traces/ids.hpp"

namespace highwater {

enum class CellKind : std::uint8_t { free, active, pending, mixed };

/// One block, or several narrow ones side by side.
struct MapCell {
  CellKind kind = CellKind::free;
  Bytes size;
  Bytes requested;     ///< of active blocks
  Bytes used;          ///< active and pending blocks in it
  AllocationId owner;  ///< of a single active block, where known
  std::uint64_t blocks = 1;
};

/// What segments hold, of one or of several.
struct SegmentSums {
  std::uint64_t segments = 0;
  Bytes size;
  Bytes active;   ///< handed out
  Bytes pending;  ///< freed by the program, waiting for other streams
  Bytes free;

  bool operator==(const SegmentSums&) const = default;
};

/// A segment, or several that look alike: of the same kind, with the same cells.
struct SegmentRow {
  Address address;  ///< of the one whose cells are here
  StreamId stream;
  PoolKind kind = PoolKind::large;
  PoolId owner;
  bool is_expandable = false;
  SegmentSums sums;  ///< of all that share the row
  Bytes largest_free_block;
  std::vector<MapCell> cells;  ///< of one, in address order; their sizes sum to the segment's
};

/// Segments that have no row of their own.
struct SegmentRest {
  StreamId stream;
  PoolKind kind = PoolKind::large;
  PoolId owner;
  SegmentSums sums;
};

struct SegmentRows {
  std::vector<SegmentRow> rows;  ///< by address
  std::vector<SegmentRest> rests;
};

struct RowLimits {
  std::size_t rows = 40;
  std::size_t cells = 2400;  ///< over all rows
  std::uint64_t resolution =
      500;  ///< narrower cells than 1 / resolution of their segment are joined
};

/// `owners` has an entry per block of `map` in order, or is empty.
SegmentRows segment_rows(const MemoryMap& map, std::span<const AllocationId> owners,
                         const RowLimits& limits = {});

}  // namespace highwater
