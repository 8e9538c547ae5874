// Passes over whole training steps that repeat, instead of carrying out each request again.
//
// The allocator is deterministic. So if its state at two moments is equal (state_image.hpp) and the
// requests behind the second moment are those behind the first (request_period.hpp), it decides
// alike, address for address, and is in the same state one period later. A period is carried out
// once between two images; every further one that the trace repeats is only counted: statistics,
// curves, handles and numbers of operations become what they would have been.
//
// Where periods may begin is guessed from numbers that come back (memory in use and the size
// requested); the guess costs little and decides nothing. A state may come back after several steps
// only: what one step keeps for the next often lies in two places by turns.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "allocator/caching_allocator.hpp"
#include "sim/replay/request_period.hpp"
#include "sim/replay/trace_driver.hpp"
#include "sim/replay/usage_tracker.hpp"

namespace highwater {

class FastForward {
 public:
  /// Of a replay of `trace` up to the event `end`. All must outlive it.
  FastForward(const RequestTrace& trace, std::size_t end, CachingAllocator& allocator,
              TraceDriver& driver, UsageTracker& tracker, ReplayResult& result);

  /// To be called before each event: the event to go on with. It is `next`, or a later one if the
  /// requests up to there repeat.
  std::size_t before(std::size_t next) {
    if (watched_) {
      return watch(next);
    }
    if (trace_->events[next].kind == EventKind::alloc) {
      const std::uint64_t signature = signature_of(trace_->events[next]);
      if (signature % kSampled == 0) {
        consider(next, signature);
      }
    }
    return next;
  }

 private:
  /// Shorter periods are loops inside a step; several of them are a period, too.
  static constexpr std::size_t kShortest = 512;
  static constexpr std::uint64_t kSampled = 16;  ///< one signature in so many is remembered
  static constexpr std::size_t kRemembered = 1024;
  /// After the n-th failure nothing is tried for n times this many events per block of the image,
  /// so that images cost little.
  static constexpr std::size_t kPatience = 32;

  /// How many of the repeated stretches are a period, in the order in which it is tried.
  static constexpr std::array<std::size_t, 6> kMultiples{1, 2, 3, 4, 6, 12};

  /// An event before which the signature was seen.
  struct Sighting {
    std::uint64_t signature = 0;
    std::size_t event = 0;
  };

  /// An allocation from before the period that the period refers to, and where it lay.
  struct Reference {
    AllocationId id;
    std::optional<Address> address;

    bool operator==(const Reference&) const = default;
  };

  /// A period that is being carried out.
  struct Watched {
    RequestPeriod period;
    StateImage image;  ///< at its begin, as all below
    Statistics statistics;
    CurveValues last{};    ///< of the curves
    std::size_t ooms = 0;  ///< of the result: not every failure has a counter
    std::uint64_t operations = 0;
    std::array<CurvePeriod, kCurveCount> changes;
    std::vector<Reference> references;
  };

  /// Differs, most likely, if the device was called in between: then the state has not come back.
  [[nodiscard]] std::uint64_t signature_of(const Event& event) const {
    const Statistics& statistics = allocator_->statistics();
    const auto allocated = static_cast<std::uint64_t>(statistics.current(Stat::allocated_bytes));
    const auto calls = static_cast<std::uint64_t>(statistics.counters.num_device_alloc +
                                                  statistics.counters.num_device_free);
    return ((allocated ^ (event.value << 32U) ^ (calls << 48U)) * 0x9e3779b97f4a7c15U) >> 20U;
  }

  [[nodiscard]] Stretch stretch_before(std::size_t end, std::size_t length) const;
  void consider(std::size_t next, std::uint64_t signature);
  void try_period(std::size_t begin, std::size_t length);
  std::size_t watch(std::size_t next);
  void note_usage(const Event& event);
  void note_reference(const Event& event);
  [[nodiscard]] Reference reference(AllocationId id) const;
  [[nodiscard]] bool has_come_back() const;
  std::size_t pass(std::uint64_t times);

  const RequestTrace* trace_;
  std::size_t end_;
  CachingAllocator* allocator_;
  TraceDriver* driver_;
  UsageTracker* tracker_;
  ReplayResult* result_;
  std::array<Sighting, kRemembered> sightings_{};
  std::size_t not_before_ = 0;  ///< nothing is tried before this event
  std::size_t failures_ = 0;    ///< since the last success
  std::size_t multiple_ = 0;    ///< of kMultiples, the next one to try
  std::optional<Watched> watched_;
};

}  // namespace highwater
