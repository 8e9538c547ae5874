// A replay as a story to draw: curves of memory in total and per pool and stream, the life of every
// segment, the steps and phases of the run, and what went wrong when.
//
// Curves are thinned to a bounded number of points. A run is cut into equal stretches, and of each
// stretch a curve keeps its first, lowest, highest and last value, in order: every extreme of every
// curve is exact, and a curve that holds still costs nothing.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/replay/state_observer.hpp"
#include "traces/address.hpp"
#include "traces/request_trace.hpp"

namespace highwater {

/// A value from event `event` on.
struct CurvePoint {
  std::size_t event = 0;
  Bytes value;

  bool operator==(const CurvePoint&) const = default;
};

/// A step function that keeps a bounded number of its points.
class ThinnedCurve {
 public:
  ThinnedCurve() = default;

  /// `stretch` > 0: events of which four points are kept at most.
  explicit ThinnedCurve(std::size_t stretch) : stretch_(stretch) {}

  /// Events in ascending order; values that do not change may be left out or repeated.
  void add(std::size_t event, Bytes value);
  std::vector<CurvePoint> take();

 private:
  void settle();

  std::size_t stretch_ = 1;
  std::optional<CurvePoint> last_;   ///< of all that was added
  std::vector<CurvePoint> current_;  ///< first, lowest, highest, last of the current stretch
  std::vector<CurvePoint> points_;
};

/// The cached memory of one pool on one stream.
struct PoolStream {
  PoolId owner;
  PoolKind kind = PoolKind::large;
  StreamId stream;

  auto operator<=>(const PoolStream&) const = default;
};

enum class StoryCurve : std::uint8_t { reserved, allocated, active };
inline constexpr std::size_t kStoryCurveCount = 3;

using StoryCurves = std::array<std::vector<CurvePoint>, kStoryCurveCount>;

/// A segment, or a range that was mapped in one go.
struct SegmentLife {
  AddressRange range;
  PoolStream home;
  std::size_t begin = 0;           ///< event; 0 also for those that were there before
  std::optional<std::size_t> end;  ///< absent: held to the end
};

enum class Incident : std::uint8_t { out_of_memory, retry, empty_cache };

struct StoryIncident {
  Incident kind = Incident::out_of_memory;
  std::size_t event = 0;
  Bytes bytes;  ///< asked for; 0 for empty_cache
};

enum class RangeKind : std::uint8_t { step, phase, op };

/// A stretch of the run between markers.
struct StoryRange {
  RangeKind kind = RangeKind::step;
  std::uint64_t value = 0;  ///< step number, or StringId of the name
  std::size_t begin = 0;    ///< events [begin, end)
  std::size_t end = 0;
};

struct MemoryStory {
  std::size_t events = 0;
  StoryCurves total;
  /// Empty when the recording and the model parted, since the parts would not add up.
  std::map<PoolStream, StoryCurves> pools;
  std::vector<SegmentLife> segments;  ///< in the order of their end, those held to the end last
  std::vector<StoryIncident> incidents;
  std::vector<StoryRange> ranges;
};

class StoryTeller : public StateObserver, public DecisionListener {
 public:
  /// `trace` is what is replayed and must outlive the observer. Each curve gets up to four points
  /// per stretch of the run.
  StoryTeller(const RequestTrace& trace, std::size_t stretches);

  void on_begin(const CachingAllocator& allocator, const TraceDriver& driver) override;

  void on_decision(const Decision& decision) override { decisions_.push_back(decision); }

  void on_state(const Event& event, AllocationStatus status, const CachingAllocator& allocator,
                const TraceDriver& driver) override;

  [[nodiscard]] DecisionListener* listener() override { return this; }

  /// To be called once.
  MemoryStory take();

 private:
  struct Held {
    PoolStream home;
    Bytes size;
  };

  struct Amounts {
    std::array<Bytes, kStoryCurveCount> now{};
    std::array<ThinnedCurve, kStoryCurveCount> curves{};
  };

  [[nodiscard]] Amounts& amounts(const PoolStream& home);
  [[nodiscard]] PoolStream home_of(const Block& block) const;
  void change(StoryCurve curve, const PoolStream& home, Bytes size, bool is_more);
  void begin_block(AllocationId id, const Block& block);
  void begin_segment(AddressRange range, const PoolStream& home);
  void end_segments(AddressRange range);
  void apply(const Decision& decision, const std::optional<PoolStream>& home);
  void complete(Address address);
  void mark(const Event& event);
  void close(RangeKind kind);
  void note_incidents(const Event& event, AllocationStatus status, const Statistics& statistics);
  void add_points(const Statistics& statistics);

  const RequestTrace* trace_;
  std::size_t stretch_;
  std::size_t event_ = 0;
  std::vector<Decision> decisions_;             ///< of the current operation
  std::map<std::uint64_t, Held> blocks_;        ///< active, by address
  std::vector<std::optional<Held>> allocated_;  ///< by AllocationId
  std::map<Address, SegmentLife> open_;         ///< segments held, by address
  std::map<PoolStream, Amounts> pools_;
  std::array<ThinnedCurve, kStoryCurveCount> total_{};
  std::array<std::optional<StoryRange>, 3> open_ranges_{};  ///< by RangeKind
  std::int64_t retries_ = 0;
  bool adds_up_ = true;
  MemoryStory story_;
};

}  // namespace highwater
