// Programs: recordings aligned by what they ask for, and requests made for other values.
#include "sim/scaling/program_fit.hpp"

#include <deque>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "sim/scaling/extent.hpp"
#include "sim/scaling/more_steps.hpp"
#include "sim/scaling/scaled_requests.hpp"
#include "tests/support/format_io.hpp"
#include "traces/error.hpp"

using namespace highwater;

namespace {

using Text = std::string (*)(std::uint64_t batch, std::uint64_t seq);

/// Three steps that use activations, a mask, and a workspace.
std::string steady(std::uint64_t b, std::uint64_t s) {
  std::string text = "a weights 4096 0\n";
  for (int step = 0; step < 3; ++step) {
    text += fmt::format(
        "step {0}\nphase forward\na x{0} {1} 0\na mask{0} {2} 0\n{3}phase backward\na g{0} {1} 0\n"
        "f mask{0}\nf x{0}\na loss{0} 512 0\nf g{0}\n",
        step, 1024 * b * s, s * s, step == 0 ? "" : fmt::format("f loss{}\n", step - 1));
  }
  return text;
}

/// The same with a workspace in the backward pass from 4096 tokens on.
std::string with_threshold(std::uint64_t b, std::uint64_t s) {
  std::string text = steady(b, s);
  const std::string place = "a g1 ";
  return b * s < 4096 ? text : text.insert(text.find(place), "a work 777 0\nf work\n");
}

/// The runs of a program, which keep their requests.
struct Runs {
  Runs(Text text, const std::vector<Values>& points) {
    for (const Values& point : points) {
      traces.push_back(test::parse_text("conf \n" + text(point[0], point[1])));
    }
    for (std::size_t i = 0; i < points.size(); ++i) {
      runs.push_back({fmt::format("run {}", i), &traces[i], points[i]});
    }
  }

  std::deque<RequestTrace> traces;
  std::vector<FitRun> runs;
};

const std::vector<std::string> kNames{"batch", "seq"};
const std::vector<Values> kPoints{{2, 512}, {4, 512}, {2, 1024}, {4, 1024}};

std::string printed(const RequestTrace& trace) {
  std::string text;
  for (const Event& event : trace.events) {
    text += fmt::format("{} {} {}\n", static_cast<int>(event.kind),
                        event.kind == EventKind::phase ? 0 : event.value,
                        event.allocation.has_value() ? event.allocation.index() : 0);
  }
  return text;
}

std::string requests_of(Text text, std::uint64_t b, std::uint64_t s) {
  return printed(test::parse_text("conf \n" + text(b, s)));
}

}  // namespace

TEST_CASE("program fit: requests at other values are those that the program makes there",
          "[sim][scaling]") {
  const Runs runs(steady, kPoints);
  const ProgramFit fit = fit_program(kNames, runs.runs);
  CHECK(fit.changes.empty());
  CHECK(fit.program.base == 3);
  CHECK(printed(requests_at(fit.program, {64, 8192}).trace) == requests_of(steady, 64, 8192));
  for (const FitRun& run : runs.runs) {
    CHECK(compare_with(fit.program, run).has_same_requests());
  }
}

TEST_CASE("program fit: requests that only some recordings make are told, with their phase",
          "[sim][scaling]") {
  const Runs runs(with_threshold, kPoints);
  const ProgramFit fit = fit_program(kNames, runs.runs);
  REQUIRE(fit.changes.size() == 1);
  CHECK(fit.changes[0].phase == "backward");
  CHECK(fit.changes[0].counts == std::vector<std::uint64_t>{0, 0, 0, 1});
  CHECK(fit.changes[0].largest == Bytes{777});
  CHECK(printed(requests_at(fit.program, {16, 1024}).trace) ==
        requests_of(with_threshold, 16, 1024));
  const FittedPoint smallest = compare_with(fit.program, runs.runs[0]);
  CHECK(smallest.additional == 1);
  CHECK(smallest.missing == 0);
  CHECK(smallest.other_sizes == 0);
}

TEST_CASE("program fit: a free that comes elsewhere is counted", "[sim][scaling]") {
  const Runs runs(steady, kPoints);
  const ProgramFit fit = fit_program(kNames, runs.runs);
  std::string text = steady(2, 512);
  text.replace(text.find("a g1 "), 5, "f mask1\na g1 ");
  text.erase(text.find("f mask1\nf x1"), 8);
  const RequestTrace other = test::parse_text("conf \n" + text);
  CHECK(compare_with(fit.program, {"other", &other, {2, 512}}).reordered == 1);
}

TEST_CASE("program fit: where the size is zero nothing is requested", "[sim][scaling]") {
  const Runs runs(
      [](std::uint64_t b, std::uint64_t s) {
        return fmt::format("a x {} 0\na y {} 0\nf y\n", b * s, (b - 1) * 512);
      },
      {{2, 512}, {4, 512}, {6, 1024}});
  const RequestTrace trace = requests_at(fit_program(kNames, runs.runs).program, {1, 512}).trace;
  CHECK(trace.events.size() == 2);
}

TEST_CASE("scaled requests: sizes that are estimated can be held or doubled", "[sim][scaling]") {
  const Runs runs(
      [](std::uint64_t b, std::uint64_t s) {
        return fmt::format("a x {} 0\nf x\n", b * s == 1024 ? 1000 : b * s == 2048 ? 1900 : 4300);
      },
      kPoints);
  const ScalableProgram program = fit_program(kNames, runs.runs).program;
  const auto size = [&](EstimatedSizes sizes) {
    return requests_at(program, {16, 1024}, sizes).trace.events[0].value;
  };
  CHECK(requests_at(program, {16, 1024}).estimated == 1);
  CHECK(size(EstimatedSizes::smallest) == 4300);
  CHECK(size(EstimatedSizes::likely) > 4300);
  CHECK(size(EstimatedSizes::largest) == 2 * size(EstimatedSizes::likely));
}

TEST_CASE("more steps: the last complete step is repeated, and frees what it left",
          "[sim][scaling]") {
  const RequestTrace trace = test::parse_text("conf \n" + steady(2, 512));
  const RequestTrace more = with_more_steps(trace, 5);
  CHECK(count_steps(more) == 5);
  std::uint64_t live = 0;
  std::vector<bool> is_live(more.allocation_count);
  std::vector<std::uint64_t> sizes(more.allocation_count);
  std::vector<std::uint64_t> at_step;
  for (const Event& event : more.events) {
    if (event.kind == EventKind::step) {
      at_step.push_back(live);
    } else if (event.kind == EventKind::alloc) {
      REQUIRE_FALSE(is_live[event.allocation.index()]);
      is_live[event.allocation.index()] = true;
      sizes[event.allocation.index()] = event.value;
      live += event.value;
    } else if (event.kind == EventKind::free) {
      REQUIRE(is_live[event.allocation.index()]);
      is_live[event.allocation.index()] = false;
      live -= sizes[event.allocation.index()];
    }
  }
  // Before the first step only the weights; then the loss of the step before as well.
  CHECK(at_step == std::vector<std::uint64_t>{4096, 4608, 4608, 4608, 4608});
}

TEST_CASE("more steps: steps that differ, or are too few, are refused", "[sim][scaling]") {
  const RequestTrace two = test::parse_text("conf \nstep 0\na x 512 0\nf x\nstep 1\na y 512 0\n");
  CHECK_THROWS_AS(with_more_steps(two, 5), UsageError);
  const RequestTrace odd = test::parse_text(
      "conf \nstep 0\na x 512 0\nstep 1\na y 512 0\nf x\nstep 2\na z 512 0\na w 512 0\n");
  CHECK_THROWS_AS(with_more_steps(odd, 5), UsageError);
}

namespace {

/// Reproduces all its recordings but the last.
ScalableProgram program_of_points(const std::vector<Values>& points) {
  ScalableProgram program;
  program.integers = kNames;
  for (const Values& point : points) {
    program.points.push_back({.values = point});
  }
  program.points.back().recorded[0] = Bytes{1};
  return program;
}

}  // namespace

TEST_CASE("extent: recorded, between, beyond", "[sim][scaling]") {
  const ScalableProgram program =
      program_of_points({{2, 512}, {4, 512}, {2, 1024}, {4, 1024}, {64, 64}});
  CHECK(extent_of(program, {4, 512}).kind == ExtentKind::recorded);
  CHECK(extent_of(program, {4, 512}).uncovered.empty());
  CHECK(extent_of(program, {2, 1024}).kind == ExtentKind::recorded);
  const Extent odd = extent_of(program, {3, 1000});
  CHECK(odd.kind == ExtentKind::beyond);
  REQUIRE(odd.uncovered.size() == 2);
  CHECK(odd.uncovered[1].is_off_grid());
  CHECK(odd.uncovered[1].multiple == 512);
  const Extent outside = extent_of(program, {64, 64});
  CHECK(outside.kind == ExtentKind::beyond);
  CHECK(outside.uncovered[0].is_outside());
  CHECK(outside.uncovered[0].most == 4);
  CHECK(extent_of(program_of_points({{2, 512}, {6, 1024}, {4, 1024}}), {4, 512}).kind ==
        ExtentKind::between);
}
