// The part of a replay's history (replay_history.hpp) that is told by the allocator's decisions:
// curves per pool and stream, and the life of every segment.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "sim/peak/largest_kept.hpp"
#include "sim/peak/memory_breakdown.hpp"
#include "sim/replay/replay_result.hpp"
#include "sim/replay/state_observer.hpp"
#include "sim/replay/timeline.hpp"
#include "traces/address.hpp"

namespace highwater {

/// A segment, or a range that was mapped in one go.
struct SegmentLife {
  AddressRange range;
  PoolStream home;
  std::uint64_t begin = 0;           ///< 0 also for those that were there before
  std::optional<std::uint64_t> end;  ///< absent: held to the end
};

/// Of each pool and stream; without the curve of requested bytes, which decisions do not show.
using PoolTimelines = std::map<PoolStream, Timeline>;

class PoolHistory : public DecisionListener {
 public:
  /// Keeps the `max_segments` lives with most bytes times positions; curves have stretches of
  /// `curve_width` positions.
  PoolHistory(std::size_t max_segments, std::uint64_t curve_width)
      : curve_width_(curve_width), segments_(max_segments) {}

  /// `allocations` is their number in the trace.
  void begin(const CachingAllocator& allocator, const TraceDriver& driver, std::size_t allocations);

  void on_decision(const Decision& decision) override { decisions_.push_back(decision); }

  /// After the event at position `at` of the history.
  void follow(const Event& event, const CachingAllocator& allocator, const TraceDriver& driver,
              std::uint64_t at);

  /// Empty when the recording and the model parted, since the parts would not add up.
  PoolTimelines take_timelines();

  /// `end` is the length of the history.
  KeptItems<SegmentLife> take_segments(std::uint64_t end);

 private:
  struct Held {
    PoolStream home;
    Bytes size;
  };

  struct Amounts {
    CurveValues now{};
    Timeline timeline;
  };

  static PoolStream home_of(const Block& block);
  Bytes& amount(Curve curve, const PoolStream& home);
  void add(Curve curve, const PoolStream& home, Bytes size);
  void remove(Curve curve, const PoolStream& home, Bytes size);
  void begin_block(AllocationId id, const Block& block);
  void begin_segment(AddressRange range, const PoolStream& home);
  void end_segments(AddressRange range);
  void keep(const SegmentLife& life, std::uint64_t end);
  void apply(const Decision& decision, const std::optional<PoolStream>& home);
  void complete(Address address);
  void add_points(const Usage& usage);

  std::uint64_t curve_width_;
  std::uint64_t at_ = 0;
  std::vector<Decision> decisions_;                    ///< of the current operation
  std::map<std::uint64_t, Held> blocks_;               ///< active, by address
  std::unordered_map<std::uint64_t, Held> allocated_;  ///< the live ones, by AllocationId
  std::map<Address, SegmentLife> open_;                ///< segments held, by address
  std::map<PoolStream, Amounts> pools_;
  LargestKept<SegmentLife> segments_;
  bool adds_up_ = true;
};

}  // namespace highwater
