// Property: a sweep that leaves out what bounds decide finds the same as one that replays every
// point: the same rows, the same counts, the same conclusion.
#include "tools/studies/sweep/sweep_bounds.hpp"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "allocator/settings/version.hpp"
#include "sim/replay/least_reserved.hpp"
#include "tests/support/command_run.hpp"
#include "tests/support/dice.hpp"
#include "tools/reports/sweep_report.hpp"
#include "tools/studies/plan_search/least_memory.hpp"
#include "tools/studies/runs/planned_run.hpp"
#include "tools/studies/runs/workload_request.hpp"
#include "tools/studies/sweep/plan_outline.hpp"
#include "tools/studies/sweep/sweep_run.hpp"

using namespace highwater;
using test::Dice;

namespace {

Bytes any_size(Dice& dice) {
  switch (dice.below(3)) {
    case 0:
      return Bytes{1 + dice.below(4096)};
    case 1:
      return Bytes{1 + dice.below(2 << 20U)};
    default:
      return Bytes{1 + dice.below(48 << 20U)};
  }
}

/// Blocks come and go on two streams; some are used on the other one, and caches are emptied.
RequestTrace random_run(Dice& dice) {
  RequestTrace trace;
  trace.stream_handles = {0, 7};
  std::vector<AllocationId> live;
  for (int i = 0; i < 400; ++i) {
    const StreamId stream{static_cast<std::uint32_t>(dice.below(2))};
    if (live.empty() || dice.below(5) < 3) {
      live.emplace_back(static_cast<std::uint32_t>(trace.allocation_count++));
      trace.events.push_back({.value = any_size(dice).count(),
                              .allocation = live.back(),
                              .stream = stream,
                              .kind = EventKind::alloc});
      continue;
    }
    const auto at = static_cast<std::ptrdiff_t>(dice.below(live.size()));
    const AllocationId block = live[static_cast<std::size_t>(at)];
    if (dice.one_in(6)) {
      trace.events.push_back(
          {.allocation = block, .stream = stream, .kind = EventKind::record_stream});
    }
    trace.events.push_back({.allocation = block, .kind = EventKind::free});
    live.erase(live.begin() + at);
    if (dice.one_in(20)) {
      trace.events.push_back({.kind = EventKind::all_streams_done});
      trace.events.push_back({.kind = EventKind::empty_cache});
    }
  }
  return trace;
}

Workload workload_of_run(RequestTrace trace) {
  return std::move(workloads_of(TraceFile(std::move(trace)), {.file = "random"}).front());
}

SweptPlans plans_of(const OptionWords& words, const MemoryRequest& memory) {
  const auto run_with = [words](const OptionWords& options) {
    return checked_run(with_words(words, options));
  };
  return {.make = [=](const OptionWords& o) { return workload_for_replays(run_with(o), memory); },
          .outline = [=](const OptionWords& o) -> std::optional<PlanOutline> {
            try {
              return outline_of(run_with(o), memory);
            } catch (const UsageError&) {
              return std::nullopt;
            }
          }};
}

/// The table, but for the words about bounds.
std::string table_of(std::vector<Sweep> sweeps, std::size_t top) {
  sweeps.front().counts.ruled_out = 0;
  return sweep_report(sweeps, OutputFormat::table, top);
}

/// How many points needed no replay.
std::uint64_t check_same(const Workload& workload, const std::vector<std::string>& sets,
                         std::size_t top, const SweptPlans& plans = {}) {
  std::vector<std::string> problems;
  SweepQuestion question{
      .axes = read_axes(sets, workload.is_plan() ? Swept::plan : Swept::recording, problems),
      .answer = SweepAnswer::best_runs,
      .top = top};
  REQUIRE(problems.empty());
  Fleet fleet;
  const Sweep with_bounds = run_sweep(workload, question, plans, fleet);
  question.bounds = SweepBounds::unused;
  const Sweep all = run_sweep(workload, question, plans, fleet);
  CHECK(all.counts.ruled_out == 0);
  CHECK(table_of({with_bounds}, top) == table_of({all}, top));
  return with_bounds.counts.ruled_out;
}

std::string capacities(const Workload& workload) {
  const std::uint64_t peak = workload.replay.result.peak.reserved.count();
  std::string list = "capacity=";
  for (const std::uint64_t percent : {20U, 45U, 70U, 85U, 95U, 100U, 110U}) {
    list += std::to_string(peak * percent / 100) + ",";
  }
  return list + std::to_string(2 * peak);
}

}  // namespace

TEST_CASE("sweep bounds: random traces give the rows of all replays", "[sweep]") {
  std::uint64_t ruled_out = 0;
  for (std::uint32_t seed = 0; seed < 12; ++seed) {
    CAPTURE(seed);
    Dice dice(seed);
    const Workload workload = workload_of_run(random_run(dice));
    const std::vector<std::string> settings{"roundup_power2_divisions=1,2,4,16",
                                            "expandable_segments=False,True",
                                            "max_split_size_mb=default,32"};
    ruled_out += check_same(workload, settings, 1);
    ruled_out += check_same(workload, settings, 7);
    std::vector<std::string> limited = settings;
    limited.push_back(capacities(workload));
    ruled_out += check_same(workload, limited, 1 + dice.below(20));
    ruled_out += check_same(
        workload, {capacities(workload), "fraction=0.5,1", "garbage_collection_threshold=0.6,0.9"},
        1 + dice.below(5));
  }
  CHECK(ruled_out > 0);
}

TEST_CASE("sweep bounds: no replay that serves all requests reserves less", "[sweep]") {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    Dice dice(seed);
    const RequestTrace trace = random_run(dice);
    for (const char* conf : {"", "roundup_power2_divisions:8", "expandable_segments:True"}) {
      ReplayOptions options;
      options.version = &version_preset("2.15");
      options.settings = parse_settings(conf, *options.version);
      const ReplayResult free = replay(trace, options);
      const std::optional<Bytes> least = least_reserved(trace, options.settings);
      CAPTURE(seed, conf);
      REQUIRE(least.has_value());
      CHECK(*least <= free.peak.allocated);
      options.capacity = *least - Bytes{1};
      CHECK(replay(trace, options).counts.ooms > 0);
    }
  }
}

TEST_CASE("sweep bounds: a trace that changes its settings has no bound", "[sweep]") {
  Dice dice(1);
  RequestTrace trace = random_run(dice);
  trace.events.push_back({.value = 0, .kind = EventKind::set_settings});
  CHECK_FALSE(least_reserved(trace, {}).has_value());
}

TEST_CASE("sweep bounds: plans give the rows of all replays", "[sweep]") {
  const OptionWords words{{"model", "gpt2"}, {"seq", "64"}, {"gpu", "a100-80"}};
  const auto check = [&](const MemoryRequest& memory, const std::vector<std::string>& sets) {
    const PlannedRun run = checked_run(words);
    return check_same(workload_of(run, memory), sets, 2, plans_of(words, memory));
  };
  const MemoryRequest small{.capacity = Bytes{3ULL << 30U}};
  CHECK(check(small, {"batch=1,2,8,64,128", "expandable_segments=False,True"}) > 0);
  CHECK(check(small, {"batch=1,64", "optimizer=adamw,sgd", "tp=1,5"}) > 0);
  CHECK(check({}, {"capacity=1GiB,2GiB,4GiB", "batch=1,32", "checkpoint=none,full"}) > 0);
  check(small, {"dp=1,2", "dp-kind=ddp,fsdp2", "batch=1,64"});
}

TEST_CASE("sweep bounds: the report says how many points needed no replay", "[sweep]") {
  const CommandRun run = run_line(
      "sweep --model gpt2 --seq 64 --gpu 3GiB --set batch=1,2,64 "
      "--set expandable_segments=False,True --top 2");
  CHECK_THAT(run.out, Catch::Contains("6 combinations: 2 fit, 4 out of memory, 0 impossible; 2 of "
                                      "them known by a bound, without a replay"));
}
