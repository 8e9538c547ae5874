// Scratch that may have stopped to grow: what it is told apart by, and what the peaks are without.
#include "sim/scaling/scratch_sizes.hpp"

#include <algorithm>
#include <deque>
#include <utility>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "sim/scaling/program_fit.hpp"
#include "sim/scaling/scaled_requests.hpp"
#include "tests/support/format_io.hpp"

using namespace highwater;

namespace {

/// A loss over pieces of up to 4096 tokens, as TRL's chunked_logprob.py makes it: the tile of
/// logits is `factor` bytes for each of them. Activations are 1024 bytes a token, and a gradient of
/// half as many comes and goes.
std::string with_pieces(std::uint64_t tokens, std::uint64_t factor) {
  return fmt::format(
      "a weights 4096 0\nstep 0\nphase forward\na x {0} 0\na tile {1} 0\nf tile\n"
      "phase backward\na g {2} 0\nf g\nf x\n",
      tokens * 1024, std::min<std::uint64_t>(tokens, 4096) * factor, tokens * 512);
}

ScalableProgram program_of(std::uint64_t factor) {
  std::deque<RequestTrace> traces;
  std::vector<FitRun> runs;
  for (const std::uint64_t tokens : std::vector<std::uint64_t>{512, 1024, 3072}) {
    traces.push_back(test::parse_text("conf \n" + with_pieces(tokens, factor)));
    runs.push_back({"run", &traces.back(), {tokens}});
  }
  ScalableProgram program = fit_program({"tokens"}, runs).program;
  for (const FitRun& run : runs) {
    program.points.push_back(compare_with(program, run));
  }
  return program;
}

std::uint64_t largest(const ScaledRequests& requests) {
  std::uint64_t most = 0;
  for (const Event& event : requests.trace.events) {
    most = std::max(most, event.kind == EventKind::alloc ? event.value : 0);
  }
  return most;
}

}  // namespace

TEST_CASE("scratch: a tile that no recording limits is named, and held for the range",
          "[sim][scaling]") {
  const ScalableProgram program = program_of(16384 * 3);
  const ScaledRequests requests = requests_at(program, {32768});
  CHECK(requests.scratch.requests == 1);
  CHECK(requests.scratch.largest == Bytes{32768ULL * 16384 * 3});
  CHECK(requests.scratch.largest_recorded == Bytes{3072ULL * 16384 * 3});
  CHECK(largest(requests_at(program, {32768}, EstimatedSizes::smallest)) == 3072ULL * 16384 * 3);
  CHECK(largest(requests_at(program, {32768}, EstimatedSizes::largest)) == 32768ULL * 16384 * 3);
}

TEST_CASE("scratch: a shape that lasting blocks have raises no doubt", "[sim][scaling]") {
  // A tile of 2048 bytes a token could be the activation in another element type.
  const ScalableProgram program = program_of(2048);
  CHECK(requests_at(program, {32768}).scratch.requests == 0);
}

TEST_CASE("scratch: a size no larger than the recorded ones raises no doubt", "[sim][scaling]") {
  CHECK(requests_at(program_of(16384 * 3), {2048}).scratch.requests == 0);
}

TEST_CASE("scratch: without phases nothing is known to come and go", "[sim][scaling]") {
  ScalableProgram program = program_of(16384 * 3);
  const RequestTrace requests = std::move(program.requests);
  program.requests = without_events(requests);
  for (const Event& event : requests.events) {
    if (event.kind == EventKind::alloc || event.kind == EventKind::free) {
      program.requests.events.push_back(event);
    }
  }
  CHECK(scratch_formulas(program, {32768}) == std::vector<bool>(program.formulas.size(), false));
}
