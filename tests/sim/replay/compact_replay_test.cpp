// The peak of a trace with repeated rounds is that of the trace written out.
#include "sim/replay/compact_replay.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include <catch2/catch.hpp>

#include "sim/replay/free_replay.hpp"
#include "sim/replay/phase_peaks.hpp"
#include "sim/replay/repeated_step.hpp"
#include "tests/support/dice.hpp"

using namespace highwater;
using namespace highwater::literals;

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
  std::vector<bool> is_used_elsewhere;   ///< on another stream
  std::vector<bool> is_waited_for;       ///< after which allocations the other stream is done
};

Round random_round(Dice& dice) {
  Round round;
  const bool uses_streams = dice.one_in(2);
  for (std::size_t i = 0; i < kAllocations; ++i) {
    round.sizes.push_back(size_of_request(dice));
    round.freed_after.push_back(dice.below(3));
    round.is_used_elsewhere.push_back(uses_streams && dice.one_in(6));
    round.is_waited_for.push_back(uses_streams && dice.one_in(5));
  }
  return round;
}

class Writer {
 public:
  explicit Writer(const Round& round) : round_(round) { trace_.stream_handles = {0, 7}; }

  /// The weight is used on the other stream.
  void begin_step() {
    trace_.events.push_back({.value = steps_++, .kind = EventKind::step});
    trace_.events.push_back(
        {.allocation = AllocationId{0U}, .stream = StreamId{1U}, .kind = EventKind::record_stream});
  }

  /// Frees what the last rounds left and the step before kept.
  void end_step(Bytes size) {
    for (std::size_t age = 1; age <= 2; ++age) {
      for (std::size_t i = 0; i < kAllocations; ++i) {
        if (round_.freed_after[i] >= age) {
          free(firsts_[firsts_.size() - age] + i);
        }
      }
    }
    firsts_.clear();
    if (kept_.has_value()) {
      free(kept_.index());
    }
    kept_ = AllocationId{trace_.allocation_count};
    allocate(size);
  }

  /// What earlier rounds left is freed between allocations.
  void add_round() {
    const std::size_t first = trace_.allocation_count;
    firsts_.push_back(first);
    for (std::size_t i = 0; i < kAllocations; ++i) {
      allocate(round_.sizes[i]);
      if (round_.is_used_elsewhere[i]) {
        trace_.events.push_back({.allocation = AllocationId{first + i},
                                 .stream = StreamId{1U},
                                 .kind = EventKind::record_stream});
      }
      if (round_.is_waited_for[i]) {
        trace_.events.push_back({.stream = StreamId{1U}, .kind = EventKind::stream_done});
      }
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
  AllocationId kept_;
  std::uint64_t steps_ = 0;
};

/// Steps of rounds, between a weight that another stream uses and states that the first step makes.
/// Each step keeps a block for the next one.
struct RunOfRounds {
  Round round;
  Bytes weight;
  Bytes state;
  Bytes kept;
  std::size_t steps = 1;
  std::size_t times = 0;  ///< of the last round that is written, more
};

RunOfRounds random_run_of_rounds(Dice& dice) {
  RunOfRounds run{.round = random_round(dice)};
  run.weight = size_of_request(dice);
  run.state = size_of_request(dice);
  run.kept = size_of_request(dice);
  run.steps = 1 + dice.below(5);
  run.times = dice.below(90);
  return run;
}

enum class Rounds { written_out, once };

CompactTrace trace_of(const RunOfRounds& run, Rounds rounds) {
  Writer writer(run.round);
  std::vector<RepeatedRound> repeated;
  writer.allocate(run.weight);
  for (std::size_t step = 0; step < run.steps; ++step) {
    writer.begin_step();
    const std::size_t first = writer.trace().allocation_count;
    RepeatedRound last{.allocations = kAllocations, .times = run.times};
    const std::size_t written = kAlike + (rounds == Rounds::once ? 0 : run.times);
    for (std::size_t i = 0; i < written; ++i) {
      last.begin = writer.trace().events.size();
      writer.add_round();
    }
    last.end = writer.trace().events.size();
    last.numbered_back = {{.from = AllocationId{first + kAllocations},
                           .to = AllocationId{first},
                           .count = (kAlike - 1) * kAllocations}};
    if (rounds == Rounds::once) {
      repeated.push_back(last);
    }
    if (step == 0) {
      writer.allocate(run.state);
    }
    writer.end_step(run.kept);
  }
  return {writer.take(), repeated};
}

}  // namespace

TEST_CASE("compact replay: the peak is that of the trace written out", "[replay]") {
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    Dice dice(seed);
    const RunOfRounds run = random_run_of_rounds(dice);
    ReplayOptions options;
    options.version = &version_preset(dice.one_in(4) ? "2.12" : "2.6");
    options.after_oom = AfterOom::stop;
    if (dice.one_in(2)) {
      options.capacity = Bytes{dice.below(1200) << 20U};
    }
    CAPTURE(seed, run.times, run.steps);
    const RequestTrace written_out = trace_of(run, Rounds::written_out).trace;
    const CompactTrace compact = trace_of(run, Rounds::once);
    const ReplayBar all = bar_of(replay(written_out, options));
    const ReplayBar bar = replay_compact(compact, options);
    CHECK(bar.reserved == all.reserved);
    CHECK(bar.active == all.active);
    CHECK(bar.ran_out == all.ran_out);
    const PhasedReplay phased = replay_with_phases(written_out, options);
    const CompactPeaks peaks = replay_compact_peaks(compact, options);
    CHECK(peaks.peak == phased.result.peak);
    CHECK(peaks.at_peak == phased.peaks.run.at_peak);
    CHECK(peaks.ran_out == phased.peaks.out_of_memory);
  }
}

namespace {

/// Whether the third of three steps is found to repeat the second.
bool third_step_repeats(RequestTrace trace) {
  ReplayOptions options;
  options.version = &version_preset("2.6");
  const CompactTrace compact{std::move(trace), {}};
  FreeReplay run(compact.trace, options);
  const std::vector<StepEvents> steps = steps_of(compact);
  REQUIRE(steps.size() == 4);
  std::vector<StepBegin> begins;
  for (const StepEvents& step : steps) {
    begins.push_back(step_begin(run.allocator, run.driver, step));
    for (std::size_t i = step.begin; i < step.end; ++i) {
      run.driver.apply(compact.trace.events[i]);
    }
  }
  return StepPair(compact.trace, steps[2], steps[3]).repeats(begins[2], begins[3]);
}

enum class Old { freed_before_new, freed_after_new };

/// Three steps: each uses the weight on another stream, allocates a block of the next of `sizes`,
/// which it frees, and one of 6 MiB, which it keeps instead of the one that the step before kept.
RequestTrace three_steps(std::array<Bytes, 3> sizes, Old old = Old::freed_before_new) {
  RequestTrace trace;
  trace.stream_handles = {0, 7};
  const auto allocate = [&](Bytes size) {
    const AllocationId id{trace.allocation_count++};
    trace.events.push_back({.value = size.count(), .allocation = id, .stream = StreamId{0U}});
    return id;
  };
  const auto free = [&](AllocationId id) {
    trace.events.push_back({.allocation = id, .kind = EventKind::free});
  };
  const AllocationId weight = allocate(2_MiB);
  AllocationId kept;
  for (std::size_t step = 0; step < 3; ++step) {
    trace.events.push_back({.value = step, .kind = EventKind::step});
    trace.events.push_back(
        {.allocation = weight, .stream = StreamId{1U}, .kind = EventKind::record_stream});
    const AllocationId first = allocate(sizes[step]);
    const AllocationId before = kept;
    if (before.has_value() && old == Old::freed_before_new) {
      free(before);
    }
    kept = allocate(6_MiB);
    if (before.has_value() && old == Old::freed_after_new) {
      free(before);
    }
    free(first);
  }
  return trace;
}

}  // namespace

TEST_CASE("compact replay: a step that asks for the same from the same state repeats", "[replay]") {
  CHECK(third_step_repeats(three_steps({6_MiB, 6_MiB, 6_MiB})));
  CHECK_FALSE(third_step_repeats(three_steps({6_MiB, 6_MiB, 5_MiB})));  // another request
  // The last may end before the others do.
  const RequestTrace whole = three_steps({6_MiB, 6_MiB, 6_MiB});
  RequestTrace prefix;
  prefix.stream_handles = whole.stream_handles;
  prefix.allocation_count = whole.allocation_count;
  for (std::size_t i = 0; i + 1 < whole.events.size(); ++i) {
    prefix.events.push_back(whole.events[i]);
  }
  CHECK(third_step_repeats(std::move(prefix)));
  // What the second kept lies behind what the first kept.
  CHECK_FALSE(third_step_repeats(three_steps({6_MiB, 6_MiB, 6_MiB}, Old::freed_after_new)));
}

namespace {

/// Blocks of all sizes, and between them groups of equal ones, each as one event or as its blocks.
class GroupWriter {
 public:
  explicit GroupWriter(std::uint32_t seed) : dice_(seed) {
    joined_.trace.stream_handles = single_.stream_handles = {0};
  }

  void write() {
    for (int i = 0; i < 120; ++i) {
      if (dice_.one_in(4)) {
        add_groups();
      } else if (dice_.one_in(3) && !live_.empty()) {
        std::swap(live_[dice_.below(live_.size())], live_.back());
        free(live_.back());
        live_.pop_back();
      } else {
        live_.push_back(allocate(size_of_request(dice_), 0));
      }
    }
  }

  [[nodiscard]] const CompactTrace& joined() const { return joined_; }

  [[nodiscard]] const RequestTrace& single() const { return single_; }

 private:
  /// The allocations of one event: one in the first trace, and as many as it has blocks in the
  /// other.
  struct Made {
    AllocationId joined;
    std::size_t first = 0;
    std::size_t count = 1;
  };

  void add_groups() {
    std::vector<Made> groups;
    for (std::uint64_t i = 0; i <= dice_.below(3); ++i) {
      const Bytes each =
          dice_.one_in(2) ? Bytes{1 + dice_.below(512)} : Bytes{dice_.below(3 << 20U) + 1};
      groups.push_back(
          allocate(each, static_cast<std::uint16_t>(1 + dice_.below(each < 1_MiB ? 9000 : 9))));
    }
    for (; !groups.empty(); groups.pop_back()) {
      free(groups.back());
    }
  }

  Made allocate(Bytes each, std::uint16_t blocks) {
    const std::size_t count = std::max<std::size_t>(blocks, 1);
    const Made made{AllocationId{joined_.trace.allocation_count++}, single_.allocation_count,
                    count};
    Event event{.value = each.count() * count,
                .allocation = made.joined,
                .stream = StreamId{0U},
                .category = static_cast<Category>(each.count() % kCategoryCount),
                .pool = blocks};
    joined_.trace.events.push_back(event);
    event.value = each.count();
    event.pool = 0;
    for (std::size_t i = 0; i < count; ++i) {
      event.allocation = AllocationId{single_.allocation_count++};
      single_.events.push_back(event);
    }
    return made;
  }

  void free(const Made& made) {
    joined_.trace.events.push_back({.allocation = made.joined, .kind = EventKind::free});
    for (std::size_t i = 0; i < made.count; ++i) {
      single_.events.push_back(
          {.allocation = AllocationId{made.first + i}, .kind = EventKind::free});
    }
  }

  Dice dice_;
  CompactTrace joined_;
  RequestTrace single_;
  std::vector<Made> live_;
};

}  // namespace

TEST_CASE("compact replay: equal blocks in one event have the peaks of single ones",
          "[replay][slow]") {
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    GroupWriter writer(seed);
    writer.write();
    Dice dice(seed);
    constexpr std::array kSettings{"", "expandable_segments:True", "roundup_power2_divisions:4",
                                   "max_split_size_mb:21", "garbage_collection_threshold:0.4"};
    ReplayOptions options;
    options.version = &version_preset(dice.one_in(3) ? "2.12" : dice.one_in(2) ? "2.15" : "2.6");
    const char* const conf = kSettings.at(seed % kSettings.size());
    options.settings = parse_settings(conf, *options.version);
    options.after_oom = AfterOom::stop;
    if (dice.one_in(2)) {
      options.capacity = Bytes{(64 + dice.below(800)) << 20U};
    }
    CAPTURE(seed, conf, options.version->name, options.capacity.has_value());
    const PhasedReplay single = replay_with_phases(writer.single(), options);
    const CompactPeaks joined = replay_compact_peaks(writer.joined(), options);
    CHECK(joined.peak == single.result.peak);
    CHECK(joined.at_peak == single.peaks.run.at_peak);
    CHECK(joined.ran_out == single.peaks.out_of_memory);
  }
}
