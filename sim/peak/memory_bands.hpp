// Every block of a run as a band over time, in a bounded size: which tensors make up the memory.
//
// The run is cut into columns, stretches of operations, and each column shows the moment at which
// its allocated bytes are highest. So a column is a state that the run was in, and its bands add up
// to the curve of allocated bytes. Blocks that live at none of these moments are only counted. Of
// the others the heaviest are kept one by one; the rest, and all that are too low to be seen, are
// summed in groups.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "sim/replay/state_observer.hpp"
#include "sim/replay/timeline.hpp"
#include "traces/chunked_vector.hpp"
#include "traces/ids.hpp"

namespace highwater {

/// The columns of a picture of bands.
struct BandColumns {
  std::uint64_t width = 1;             ///< operations per column
  std::vector<std::uint64_t> moments;  ///< by column: after which operation it is; ascending
  Bytes highest;                       ///< allocated at the highest of them
};

/// At most `most` columns, each with whole stretches of `timeline`.
BandColumns band_columns(const Timeline& timeline, std::size_t most = 2048);

/// A block from its allocation to the request of its free: columns [first, last). There may be tens
/// of millions of them.
struct Band {
  Bytes size;  ///< of the block, rounding included
  AllocationId allocation;
  std::uint16_t first = 0;
  std::uint16_t last = 0;

  /// What it fills in the picture.
  [[nodiscard]] double area() const {
    return static_cast<double>(size.count()) * static_cast<double>(last - first);
  }
};

/// A band that is drawn by itself.
struct TimedBand : Band {
  static constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

  std::uint64_t begin = 0;     ///< operation; 0 also for blocks that were there before
  std::uint64_t end = kNever;  ///< operation that frees it
};

struct BandLimits {
  std::size_t bands = 5000;
  std::uint64_t resolution = 4000;  ///< lower than 1 / resolution of the picture cannot be seen
};

/// Which bands are drawn one by one, and which are summed.
struct SplitBands {
  std::vector<TimedBand> kept;  ///< in order of their begin
  ChunkedVector<Band> summed;
};

/// Keeps the heaviest bands of those that are high enough to be seen.
class BandSplitter {
 public:
  /// `highest` is the height of the picture.
  explicit BandSplitter(Bytes highest, const BandLimits& limits = {})
      : lowest_(highest / limits.resolution), most_(limits.bands) {}

  void add(const TimedBand& band);
  SplitBands take();

 private:
  void drop_lightest();

  Bytes lowest_;
  std::size_t most_;
  SplitBands split_;
};

/// Notes the bands while it watches a replay.
class BandRecorder : public StateObserver {
 public:
  /// `columns` must outlive the recorder; `allocations` is their number in the trace.
  BandRecorder(const BandColumns& columns, std::size_t allocations, const BandLimits& limits = {})
      : columns_(&columns), slots_(allocations, kNoSlot), splitter_(columns.highest, limits) {}

  void on_begin(const CachingAllocator& allocator, const TraceDriver& driver) override;
  void on_state(const Event& event, AllocationStatus status, const CachingAllocator& allocator,
                const TraceDriver& driver) override;

  /// Those that live at the moment of a column.
  SplitBands take();

  /// How many blocks live at none of the moments.
  [[nodiscard]] std::uint64_t unseen() const { return unseen_; }

 private:
  static constexpr std::uint32_t kNoSlot = std::numeric_limits<std::uint32_t>::max();

  void begin(AllocationId id, Bytes size, std::uint64_t operation);
  void end(AllocationId id, std::uint64_t operation);
  void finish(const TimedBand& band);
  [[nodiscard]] std::uint16_t column_at(std::uint64_t operation);

  const BandColumns* columns_;
  std::uint16_t next_column_ = 0;
  std::vector<std::uint32_t> slots_;  ///< by AllocationId: where in `open_`
  std::vector<TimedBand> open_;
  BandSplitter splitter_;
  std::uint64_t unseen_ = 0;
};

/// Bands of one group as a curve.
struct BandSum {
  std::uint64_t group = 0;
  std::uint64_t blocks = 0;
  double area = 0;
  std::vector<std::int64_t> changes;  ///< of bytes from column to column, the first from 0
};

/// By group, the one that fills most first.
std::vector<BandSum> sum_bands(const ChunkedVector<Band>& bands, std::size_t columns,
                               const std::function<std::uint64_t(const Band&)>& group_of);

}  // namespace highwater
