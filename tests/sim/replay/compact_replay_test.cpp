// The peak of a trace with repeated rounds is that of the trace written out.
#include "sim/replay/compact_replay.hpp"

#include <cstddef>

#include <catch2/catch.hpp>

#include "sim/replay/phase_peaks.hpp"
#include "tests/support/dice.hpp"

using namespace highwater;

namespace {

using test::Dice;

constexpr std::size_t kAllocations = 40;  // of a round
constexpr std::size_t kAlike = 5;         // rounds that the trace has

Bytes size_of_request(Dice& dice) {
  return Bytes{1 + (dice.one_in(2) ? dice.below(4096) : dice.below(48 << 20U))};
}

/// A round as a list of requests: an allocation by its place, freed in the round itself or up to
/// two rounds later.
struct Round {
  std::vector<Bytes> sizes;
  std::vector<std::size_t> freed_after;  ///< rounds
};

Round random_round(Dice& dice) {
  Round round;
  for (std::size_t i = 0; i < kAllocations; ++i) {
    round.sizes.push_back(size_of_request(dice));
    round.freed_after.push_back(dice.below(3));
  }
  return round;
}

class Writer {
 public:
  explicit Writer(const Round& round) : round_(round) { trace_.stream_handles = {0}; }

  void add_weight(Bytes size) { allocate(size); }

  /// What earlier rounds left is freed between allocations.
  void add_round() {
    const std::size_t first = trace_.allocation_count;
    firsts_.push_back(first);
    for (std::size_t i = 0; i < kAllocations; ++i) {
      allocate(round_.sizes[i]);
      for (std::size_t age = 1; age <= 2; ++age) {
        if (round_.freed_after[i] == age && firsts_.size() > age) {
          free(firsts_[firsts_.size() - 1 - age] + i);
        }
      }
      if (round_.freed_after[i] == 0 && i % 2 == 0) {
        free(first + i);
      }
    }
    for (std::size_t i = 1; i < kAllocations; i += 2) {
      if (round_.freed_after[i] == 0) {
        free(first + i);
      }
    }
  }

  void allocate(Bytes size) {
    trace_.events.push_back({.value = size.count(),
                             .allocation = AllocationId{trace_.allocation_count++},
                             .stream = StreamId{0U},
                             .category = static_cast<Category>(size.count() % kCategoryCount)});
  }

  [[nodiscard]] const RequestTrace& trace() const { return trace_; }

  RequestTrace take() { return std::move(trace_); }

 private:
  void free(std::size_t id) {
    trace_.events.push_back({.allocation = AllocationId{id}, .kind = EventKind::free});
  }

  const Round& round_;
  RequestTrace trace_;
  std::vector<std::size_t> firsts_;
};

/// The first rounds, and the last of them repeated.
CompactTrace compact(const Round& round, Bytes weight, Bytes at_end, std::size_t times) {
  Writer writer(round);
  writer.add_weight(weight);
  RepeatedRound repeated{
      .allocations = kAllocations, .first_alike = AllocationId{1U}, .times = times};
  for (std::size_t i = 0; i < kAlike; ++i) {
    repeated.begin = writer.trace().events.size();
    writer.add_round();
  }
  repeated.end = writer.trace().events.size();
  repeated.next_allocation = AllocationId{writer.trace().allocation_count};
  writer.allocate(at_end);
  return {writer.take(), {repeated}};
}

RequestTrace written_out(const Round& round, Bytes weight, Bytes at_end, std::size_t times) {
  Writer writer(round);
  writer.add_weight(weight);
  for (std::size_t i = 0; i < kAlike + times; ++i) {
    writer.add_round();
  }
  writer.allocate(at_end);
  return writer.take();
}

}  // namespace

TEST_CASE("compact replay: the peak is that of the trace written out", "[replay]") {
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    Dice dice(seed);
    const Round round = random_round(dice);
    const Bytes weight = size_of_request(dice);
    const Bytes at_end = size_of_request(dice);
    const std::size_t times = dice.below(90);
    ReplayOptions options;
    options.version = &version_preset(dice.one_in(4) ? "2.12" : "2.6");
    options.after_oom = AfterOom::stop;
    if (dice.one_in(2)) {
      options.capacity = Bytes{dice.below(1200) << 20U};
    }
    CAPTURE(seed, times);
    const ReplayBar all = bar_of(replay(written_out(round, weight, at_end, times), options));
    const ReplayBar bar = replay_compact(compact(round, weight, at_end, times), options);
    CHECK(bar.reserved == all.reserved);
    CHECK(bar.active == all.active);
    CHECK(bar.ran_out == all.ran_out);
    const PhasedReplay phased =
        replay_with_phases(written_out(round, weight, at_end, times), options);
    const CompactPeaks peaks = replay_compact_peaks(compact(round, weight, at_end, times), options);
    CHECK(peaks.peak == phased.result.peak);
    CHECK(peaks.at_peak == phased.peaks.run.at_peak);
    CHECK(peaks.ran_out == phased.peaks.out_of_memory);
  }
}
