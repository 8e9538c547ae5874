// Runs of real PyTorch with lengths drawn at random, 200 of them, beside what is made of the plan:
// the same lengths give the same peaks to the byte, and other draws of the same distribution the
// same distribution of peaks. tests/data/chance is from tools/python/measure/varying_lengths.py.
#include <algorithm>
#include <cmath>
#include <sstream>

#include <catch2/catch.hpp>

#include "allocator/settings/version.hpp"
#include "sim/chance/intervals.hpp"
#include "tools/studies/chance/ensemble_run.hpp"
#include "tools/studies/chance/plan_steps.hpp"
#include "tools/studies/runs/planned_run.hpp"
#include "traces/formats/bytes/byte_source.hpp"

using namespace highwater;

namespace {

constexpr std::int64_t kSamples = 4;  ///< of a batch
constexpr std::int64_t kLongest = 2048;
constexpr Bytes kLimit{1500ULL << 20U};

struct RecordedRun {
  std::size_t failed_step = 0;  ///< from 1; 0: it came to its end
  std::uint64_t reserved[3]{};  ///< after 30, 100, 300 steps
  std::uint64_t allocated[3]{};
  std::vector<std::int64_t> lengths;
};

std::vector<RecordedRun> recorded_runs(const std::string& name) {
  std::istringstream in(read_text_file(HIGHWATER_TEST_DATA "/chance/" + name));
  std::vector<RecordedRun> runs;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line.front() == '#') {
      continue;
    }
    std::istringstream words(line);
    RecordedRun& run = runs.emplace_back();
    words >> run.failed_step;
    for (int i = 0; i < 3; ++i) {
      words >> run.reserved[i] >> run.allocated[i];
    }
    for (std::int64_t length = 0; words >> length;) {
      run.lengths.push_back(length);
    }
  }
  return runs;
}

TrainingPlan tiny_llama_plan() {
  return checked_run({{"model", HIGHWATER_TEST_DATA "/chance/llama-tiny.json"},
                      {"batch", std::to_string(kSamples)},
                      {"gpu", "a100-80"}})
      .plan;
}

PlanSteps& tiny_llama_steps() {
  static PlanSteps steps(
      tiny_llama_plan(), LoadKind::busiest,
      {{.lengths = {kLongest}}, {.lengths = {1}}, {.lengths = {300}}, {.lengths = {777}}});
  return steps;
}

EnsembleOptions options_of(std::size_t runs, std::size_t steps) {
  EnsembleOptions options{.runs = runs, .steps = steps, .seed = 7};
  options.memory.version = &version_preset("2.15");
  options.memory.capacity = Bytes{80ULL << 30U};
  return options;
}

/// The lengths of one recorded run, in its order.
EnsembleOptions as_recorded(const RecordedRun& run, std::size_t steps) {
  EnsembleOptions options = options_of(1, steps);
  options.draws.lengths = LengthSource{.distribution = std::nullopt, .list = run.lengths};
  options.draws.batching.strategy = SamplingStrategy::sequential;
  return options;
}

/// Lengths as the recorded runs drew them, by Highwater's own numbers.
EnsembleOptions as_drawn(std::size_t runs, std::size_t steps) {
  EnsembleOptions options = options_of(runs, steps);
  options.draws.lengths = LengthSource{
      .distribution = read_distribution("lognormal:median=300,sigma=0.6,max=2048", 1).value,
      .list = {}};
  options.draws.batching.batch = kSamples;
  return options;
}

/// The largest distance between the shares of two samples below a value: Smirnov (1939).
double distance_between(std::vector<double> a, std::vector<double> b) {
  std::ranges::sort(a);
  std::ranges::sort(b);
  double distance = 0;
  for (const double value : a) {
    const auto share = [value](const std::vector<double>& sorted) {
      return static_cast<double>(std::ranges::upper_bound(sorted, value) - sorted.begin()) /
             static_cast<double>(sorted.size());
    };
    distance = std::max(distance, std::abs(share(a) - share(b)));
  }
  return distance;
}

/// Samples of one distribution are further apart once in a hundred times.
double critical_distance(std::size_t a, std::size_t b) {
  const auto n = static_cast<double>(a);
  const auto m = static_cast<double>(b);
  return 1.628 * std::sqrt((n + m) / (n * m));
}

}  // namespace

TEST_CASE("recorded lengths: the same lengths give the recorded peaks to the byte",
          "[chance][long]") {
  const std::vector<RecordedRun> runs = recorded_runs("llama-tiny.txt.xz");
  REQUIRE(runs.size() == 200);
  for (std::size_t i = 0; i < runs.size(); i += 20) {
    const DrawnRun own = run_ensemble(tiny_llama_steps(), as_recorded(runs[i], 300)).runs.front();
    CAPTURE(i);
    CHECK(own.peak_reserved.count() == runs[i].reserved[2]);
    CHECK(own.peak_allocated.count() == runs[i].allocated[2]);
  }
  for (std::size_t i = 1; i < runs.size(); i += 3) {
    const DrawnRun own = run_ensemble(tiny_llama_steps(), as_recorded(runs[i], 30)).runs.front();
    CAPTURE(i);
    CHECK(own.peak_reserved.count() == runs[i].reserved[0]);
  }
}

TEST_CASE("recorded lengths: memory runs out in the recorded step", "[chance]") {
  const std::vector<RecordedRun> lengths = recorded_runs("llama-tiny.txt.xz");
  const std::vector<RecordedRun> runs = recorded_runs("llama-tiny-limit1500.txt");
  REQUIRE(runs.size() == 200);
  for (std::size_t i = 0; i < runs.size(); i += 10) {
    EnsembleOptions options = as_recorded(lengths[i], 300);
    options.memory.memory_limit = kLimit;
    const DrawnRun own = run_ensemble(tiny_llama_steps(), options).runs.front();
    CAPTURE(i);
    CHECK((own.failure ? own.failure->step + 1 : 0) == runs[i].failed_step);
  }
}

TEST_CASE("recorded lengths: drawn lengths give the recorded distribution of peaks",
          "[chance][long]") {
  const std::vector<RecordedRun> recorded = recorded_runs("llama-tiny.txt.xz");
  for (const int after : {0, 1}) {
    const Ensemble drawn = run_ensemble(tiny_llama_steps(), as_drawn(200, after == 0 ? 30 : 100));
    std::vector<double> own;
    std::vector<double> theirs;
    for (const DrawnRun& run : drawn.runs) {
      own.push_back(static_cast<double>(run.peak_reserved.count()));
    }
    for (const RecordedRun& run : recorded) {
      theirs.push_back(static_cast<double>(run.reserved[after]));
    }
    CHECK(distance_between(own, theirs) < critical_distance(own.size(), theirs.size()));
    std::ranges::sort(own);
    std::ranges::sort(theirs);
    for (const double share : {0.25, 0.5, 0.75}) {
      const QuantilePlace ours = quantile_place(share, own.size());
      const QuantilePlace place = quantile_place(share, theirs.size());
      CAPTURE(after, share);
      CHECK(own[ours.low] <= theirs[place.high]);
      CHECK(theirs[place.low] <= own[ours.high]);
    }
  }
}

TEST_CASE("recorded lengths: the chance of running out is the recorded one", "[chance][long]") {
  const std::vector<RecordedRun> recorded = recorded_runs("llama-tiny-limit1500.txt");
  EnsembleOptions options = as_drawn(200, 100);
  options.memory.memory_limit = kLimit;
  const Ensemble drawn = run_ensemble(tiny_llama_steps(), options);
  const auto own = static_cast<std::size_t>(std::ranges::count_if(
      drawn.runs, [](const DrawnRun& run) { return run.failure.has_value(); }));
  const auto theirs =
      static_cast<std::size_t>(std::ranges::count_if(recorded, [](const RecordedRun& run) {
        return run.failed_step != 0 && run.failed_step <= 100;
      }));
  CAPTURE(own, theirs);
  CHECK(wilson_interval(own, drawn.runs.size()).low <
        wilson_interval(theirs, recorded.size()).high);
  CHECK(wilson_interval(theirs, recorded.size()).low <
        wilson_interval(own, drawn.runs.size()).high);
}
