// Properties: steps that repeat are counted instead of carried out, and nobody can tell from the
// result.
#include "sim/replay/fast_forward.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "allocator/settings/constants.hpp"
#include "allocator/simulated_device.hpp"
#include "sim/replay/replay.hpp"
#include "tests/support/dice.hpp"
#include "tests/support/oracle/naive_allocator.hpp"

using namespace highwater;
using namespace highwater::literals;

namespace {

using test::Dice;

constexpr std::size_t kSteps = 40;

/// What a made-up training run is like.
struct Run {
  std::string name;
  std::string conf;
  std::string torch = "2.15";
  std::optional<Bytes> capacity;
  std::optional<double> fraction;
  std::uint64_t streams = 1;
  bool resets_peaks = false;
  bool uses_streams = false;  ///< record_stream, with its events completed before the step ends
  bool leaves_waiting =
      false;                   ///< with uses_streams: blocks that are used or wait when a step ends
  bool has_odd_step = false;   ///< one step in the middle asks for something else
  bool asks_too_much = false;  ///< each step asks for more than any device has, and goes on
  bool empties_cache = false;  ///< each step ends with empty_cache
  bool opens_pool = false;     ///< a private pool is open from the start
  bool repeats = true;         ///< whether steps are counted
};

/// One request of a step; allocations are named by their place in the step.
struct StepEvent {
  EventKind kind = EventKind::alloc;
  std::uint32_t place = 0;
  Bytes size;
  StreamId stream;
  bool from_last_step = false;
};

Bytes any_size(Dice& dice) {
  switch (dice.below(4)) {
    case 0:
      return Bytes{1 + dice.below(4096)};
    case 1:
      return Bytes{1 + dice.below(2 << 20U)};
    case 2:
      return Bytes{(1 + dice.below(40)) << 19U};
    default:
      return Bytes{1 + dice.below(60 << 20U)};
  }
}

/// A step of about `length` requests. Some allocations outlive it and are freed in the next one.
std::vector<StepEvent> random_step(const Run& run, Dice& dice, std::size_t length) {
  std::vector<StepEvent> step;
  std::vector<std::uint32_t> live;
  std::uint32_t places = 0;
  const auto stream = [&] { return StreamId{dice.below(run.streams)}; };
  const auto kept = static_cast<std::uint32_t>(dice.below(20));
  for (std::uint32_t place = 0; place < kept; ++place) {
    step.push_back({EventKind::alloc, place, any_size(dice), stream()});
    places = place + 1;
    if (run.leaves_waiting && dice.one_in(2)) {
      step.push_back({EventKind::record_stream, place, {}, stream()});
    }
  }
  if (run.asks_too_much) {
    step.push_back({EventKind::alloc, places++, kLargestRequest + 1_B, stream()});
  }
  std::uint32_t old = kept;  // of the last step, still to be freed
  while (step.size() < length || !live.empty() || old > 0) {
    const bool ends = step.size() >= length;
    if (old > 0 && (ends || dice.one_in(10))) {
      step.push_back({EventKind::free, --old, {}, {}, true});
    } else if (!live.empty() && (ends || live.size() > 60 || dice.one_in(2))) {
      const std::size_t i = dice.below(live.size());
      if (run.uses_streams && dice.one_in(8)) {
        step.push_back({EventKind::record_stream, live[i], {}, stream()});
      }
      step.push_back({EventKind::free, live[i]});
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(i));
    } else if (!ends) {
      step.push_back({EventKind::alloc, places, any_size(dice), stream()});
      live.push_back(places++);
    }
    if (run.leaves_waiting && dice.one_in(40)) {
      step.push_back({EventKind::all_streams_done});
    }
    if (run.resets_peaks && dice.one_in(100)) {
      step.push_back({EventKind::reset_peaks});
    }
  }
  if (run.empties_cache) {
    step.push_back({EventKind::empty_cache});
  }
  if (run.uses_streams &&
      !run.leaves_waiting) {  // all events complete, and the next request notices
    step.push_back({EventKind::all_streams_done});
    step.push_back({EventKind::alloc, places, 512_B, StreamId{std::uint32_t{0}}});
    step.push_back({EventKind::free, places});
  }
  return step;
}

class TraceOfSteps {
 public:
  explicit TraceOfSteps(const Run& run) {
    for (std::uint64_t s = 0; s < run.streams; ++s) {
      trace_.stream_handles.push_back(s);
    }
    if (run.opens_pool) {
      trace_.pools.push_back({1, 0});
      trace_.events.push_back({.allocation = AllocationId{0U}, .kind = EventKind::pool_begin});
    }
  }

  void add(const std::vector<StepEvent>& step) {
    const std::size_t first = trace_.allocation_count;
    trace_.events.push_back({.value = steps_++, .kind = EventKind::step});
    for (const StepEvent& event : step) {
      const std::size_t base = event.from_last_step ? last_ : first;
      if (event.kind == EventKind::alloc) {
        trace_.allocation_count = std::max(trace_.allocation_count, base + event.place + 1);
      }
      if (!event.from_last_step || has_last_) {
        trace_.events.push_back({.value = event.size.count(),
                                 .allocation = AllocationId{base + event.place},
                                 .stream = event.stream,
                                 .kind = event.kind});
      }
    }
    last_ = first;
    has_last_ = true;
  }

  /// An allocation that lives to the end.
  void add_parameter(Bytes size) {
    trace_.events.push_back({.value = size.count(),
                             .allocation = AllocationId{trace_.allocation_count++},
                             .stream = StreamId{std::uint32_t{0}}});
  }

  [[nodiscard]] RequestTrace take() { return std::move(trace_); }

 private:
  RequestTrace trace_;
  std::uint64_t steps_ = 0;
  std::size_t last_ = 0;
  bool has_last_ = false;
};

RequestTrace random_run(const Run& run, std::uint32_t seed) {
  Dice dice(seed);
  TraceOfSteps steps(run);
  for (std::uint64_t i = dice.below(30); i > 0; --i) {
    steps.add_parameter(any_size(dice));
  }
  const std::vector<StepEvent> step = random_step(run, dice, 100 + dice.below(900));
  for (std::size_t i = 0; i < kSteps; ++i) {
    steps.add(step);
    if (run.has_odd_step && i == kSteps / 2) {
      steps.add(random_step(run, dice, 200));
    }
  }
  return steps.take();
}

ReplayOptions options_of(const Run& run) {
  ReplayOptions options;
  options.version = &version_preset(run.torch);
  options.settings = parse_settings(run.conf, *options.version);
  options.capacity = run.capacity;
  options.fraction = run.fraction;
  return options;
}

/// Everything in a result but the handles, which are names inside one replay.
void require_same(const ReplayResult& a, const ReplayResult& b) {
  CHECK(a.peak == b.peak);
  CHECK(a.at_peak_reserved == b.at_peak_reserved);
  CHECK(a.final == b.final);
  CHECK(a.operations == b.operations);
  CHECK(a.counts.allocs == b.counts.allocs);
  CHECK(a.counts.frees == b.counts.frees);
  CHECK(a.counts.ooms == b.counts.ooms);
  CHECK(std::ranges::equal(a.ooms, b.ooms, {}, &OomRecord::operation, &OomRecord::operation));
  CHECK(a.refused_empty_caches == b.refused_empty_caches);
  CHECK(a.statistics.counters == b.statistics.counters);
  CHECK(a.statistics.oversize_allocations == b.statistics.oversize_allocations);
  CHECK(a.statistics.oversize_segments == b.statistics.oversize_segments);
  for (std::size_t i = 0; i < kStatCount; ++i) {
    const auto stat = static_cast<Stat>(i);
    INFO(to_string(stat));
    CHECK(a.statistics.all(stat) == b.statistics.all(stat));
    CHECK(a.statistics.of(stat, PoolKind::small) == b.statistics.of(stat, PoolKind::small));
    CHECK(a.statistics.of(stat, PoolKind::large) == b.statistics.of(stat, PoolKind::large));
  }
  for (const Curve curve : {Curve::requested, Curve::allocated, Curve::active, Curve::reserved}) {
    CHECK(a.timeline.curve(curve).points() == b.timeline.curve(curve).points());
  }
  REQUIRE(a.map.segments.size() == b.map.segments.size());
  for (std::size_t s = 0; s < a.map.segments.size(); ++s) {
    CHECK(a.map.segments[s].range() == b.map.segments[s].range());
    CHECK(std::ranges::equal(a.map.segments[s].blocks, b.map.segments[s].blocks,
                             [](const MapBlock& x, const MapBlock& y) {
                               return x.range() == y.range() && x.state == y.state &&
                                      x.requested == y.requested;
                             }));
  }
}

/// The statistics that the plain second implementation reaches by carrying everything out.
void require_same_as_oracle(const RequestTrace& trace, const ReplayOptions& options,
                            const ReplayResult& result) {
  SimulatedDevice device({options.capacity, options.addresses});
  oracle::NaiveAllocator oracle(device, options.settings, *options.version);
  if (options.fraction) {
    oracle.set_memory_fraction(*options.fraction);
  }
  std::vector<oracle::NaiveBlock*> blocks(trace.allocation_count);
  for (const Event& event : trace.events) {
    if (!event.is_operation()) {
      continue;
    }
    oracle::NaiveBlock*& block = blocks[event.allocation.index()];
    switch (event.kind) {
      case EventKind::alloc:
        block = oracle.allocate(event.bytes(), event.stream).block;
        break;
      case EventKind::free:
        if (block != nullptr) {
          oracle.free(std::exchange(block, nullptr));
        }
        break;
      case EventKind::record_stream:
        if (block != nullptr) {
          oracle.record_stream(block, event.stream);
        }
        break;
      case EventKind::all_streams_done:
        oracle.complete_all_events();
        break;
      case EventKind::empty_cache:
        oracle.empty_cache();
        break;
      case EventKind::reset_peaks:
        oracle.reset_peaks();
        break;
      case EventKind::pool_begin:
        oracle.begin_pool(trace.pools[event.pool]);
        break;
      default:
        break;
    }
  }
  for (std::size_t i = 0; i < kStatCount; ++i) {
    const auto stat = static_cast<Stat>(i);
    INFO(to_string(stat));
    CHECK(result.statistics.all(stat) == oracle.statistics().all(stat));
  }
}

const std::array kRuns{
    Run{.name = "plain"},
    Run{.name = "2.6", .torch = "2.6"},
    Run{.name = "2.12", .torch = "2.12", .repeats = false},
    Run{.name = "tight", .capacity = 600_MiB},
    Run{.name = "split limit", .conf = "max_split_size_mb:50"},
    Run{.name = "expandable", .conf = "expandable_segments:True"},
    Run{.name = "expandable, tight", .conf = "expandable_segments:True", .capacity = 700_MiB},
    Run{.name = "garbage collection",
        .conf = "garbage_collection_threshold:0.6",
        .capacity = 2_GiB,
        .fraction = 0.5,
        .repeats = false},
    Run{.name = "streams", .streams = 3, .uses_streams = true},
    Run{.name = "streams that lag", .streams = 3, .uses_streams = true, .leaves_waiting = true},
    Run{.name = "peaks are reset", .resets_peaks = true},
    Run{.name = "an odd step", .streams = 2, .has_odd_step = true},
    Run{.name = "asks too much", .asks_too_much = true},
    Run{.name = "empties the cache", .empties_cache = true, .repeats = false},
    Run{.name = "empties nothing", .torch = "2.8", .empties_cache = true, .opens_pool = true},
    Run{.name = "may not empty the cache",
        .torch = "2.6",
        .empties_cache = true,
        .opens_pool = true,
        .repeats = false},
};

}  // namespace

TEST_CASE("fast forward: random steps give the same result carried out and counted",
          "[sim][fast_forward][property]") {
  for (const Run& run : kRuns) {
    std::uint64_t repeated = 0;
    for (std::uint32_t seed = 1; seed <= 6; ++seed) {
      INFO(run.name << ", seed " << seed);
      const RequestTrace trace = random_run(run, seed);
      ReplayOptions options = options_of(run);
      const ReplayResult counted = replay(trace, options);
      options.repeated_steps = RepeatedSteps::carried_out;
      const ReplayResult carried_out = replay(trace, options);
      require_same(counted, carried_out);
      // The oracle numbers no blocks, and gives as much as is asked for.
      if (options.version->ties != TieOrder::by_block_age && !run.asks_too_much) {
        require_same_as_oracle(trace, options, counted);
      }
      CHECK(carried_out.operations_repeated == 0);
      repeated += counted.operations_repeated;
    }
    INFO(run.name);
    CHECK((repeated > 0) == run.repeats);
  }
}

TEST_CASE("fast forward: a run of equal steps is carried out a few times only",
          "[sim][fast_forward]") {
  const Run run{.name = "plain"};
  const RequestTrace trace = random_run(run, 1);
  const ReplayResult result = replay(trace, options_of(run));
  CHECK(result.operations_repeated * 10 > result.operations * 7);
}

TEST_CASE("fast forward: the replay may end inside a step", "[sim][fast_forward]") {
  const Run run{.name = "plain", .resets_peaks = true};
  const RequestTrace trace = random_run(run, 2);
  for (const std::size_t sixteenth : {9U, 12U, 15U}) {
    ReplayOptions options = options_of(run);
    options.last_event = trace.events.size() * sixteenth / 16;
    const ReplayResult counted = replay(trace, options);
    options.repeated_steps = RepeatedSteps::carried_out;
    require_same(counted, replay(trace, options));
    CHECK(counted.operations_repeated > 0);
  }
}

TEST_CASE("fast forward: a step that leaks is never counted only", "[sim][fast_forward]") {
  const Run run{.name = "leak"};
  Dice dice(3);
  const std::vector<StepEvent> step = random_step(run, dice, 700);
  TraceOfSteps steps(run);
  for (std::size_t i = 0; i < kSteps; ++i) {
    steps.add(step);
    steps.add_parameter(3_MiB);
  }
  CHECK(replay(steps.take(), options_of(run)).operations_repeated == 0);
}

TEST_CASE("fast forward: whoever watches sees every event", "[sim][fast_forward]") {
  const Run run{.name = "plain"};
  const RequestTrace trace = random_run(run, 1);
  ReplayOptions options = options_of(run);
  options.decisions = DecisionDetail::keep;
  CHECK(replay(trace, options).operations_repeated == 0);
}
