// Programs that take turns, compared with the trace that one would write by hand.
#include "sim/phases/phased_run.hpp"

#include <catch2/catch.hpp>

#include "tests/support/format_io.hpp"
#include "traces/error.hpp"
#include "traces/parse_text.hpp"

using namespace highwater;
using namespace highwater::literals;

namespace {

PhasedProgram program(const std::string& name, const std::string& lines,
                      std::vector<std::size_t> part_ends) {
  return {name,
          std::make_shared<const RequestTrace>(test::parse_text("conf \n" + lines)),
          std::move(part_ends),
          {}};
}

/// The lines that are requests or markers.
std::string event_lines(const PhasedRun& run) {
  std::string lines;
  for (const std::string& line : split(test::print_text(run.trace), '\n')) {
    if (!line.empty() && !line.starts_with("conf") && !line.starts_with("#")) {
      lines += line + "\n";
    }
  }
  return lines;
}

/// Weights, and in each step a block that comes and goes; the second step leaves one behind.
PhasedProgram trainer() {
  return program("trainer",
                 "step 0\na 0 100 0 parameter\na 1 10 0 activation\nf 1\n"
                 "step 1\na 2 10 0\nf 2\na 3 7 0\nf 0\n",
                 {4, 9});
}

PhasedProgram engine() {
  PhasedProgram result = program("engine", "a 0 50 0\na 1 60 3\n", {2});
  result.block_names = {"weights", "cache"};
  return result;
}

}  // namespace

TEST_CASE("phases: each program goes on where it stopped", "[sim][phases]") {
  const PhasedRun run = phased_run(
      {trainer(), engine()}, {{.name = "train", .program = 0}, {.name = "serve", .program = 1}}, 2);
  CHECK(event_lines(run) ==
        "step 0\nphase train\nphase train\na 0 100 0 parameter\na 1 10 0 activation\nf 1\n"
        "phase serve\nphase serve\na 4 50 0\na 5 60 3\n"
        "step 1\nphase train\nphase train\na 2 10 0\nf 2\na 3 7 0\nf 0\n"
        "phase serve\nphase serve\n");
  REQUIRE(run.turns.size() == 4);
  CHECK(run.turns[1].live == std::vector{100_B, 110_B});
  CHECK(run.turns[3].live == std::vector{7_B, 110_B});
}

TEST_CASE("phases: what sleeps gives its blocks back and asks for them again", "[sim][phases]") {
  const Sleeper cache{.program = 1, .parts = {"cache"}};
  const PhasedRun run =
      phased_run({trainer(), engine()},
                 {{.name = "serve", .program = 1},
                  {.name = "train", .program = 0, .asleep = {cache}, .empties_cache = true}},
                 2);
  CHECK(event_lines(run) ==
        "step 0\nphase serve\nphase serve\na 4 50 0\na 5 60 3\n"
        "phase train\nf 5\nE\nc\nphase train\na 0 100 0 parameter\na 1 10 0 activation\nf 1\n"
        "step 1\nphase serve (waking)\na 6 60 3\nphase serve\n"
        "phase train\nf 6\nE\nc\nphase train\na 2 10 0\nf 2\na 3 7 0\nf 0\n");
  CHECK(run.turns[1].slept == 60_B);
  CHECK(run.turns[2].woken == 60_B);
  CHECK(run.turns[3].live == std::vector{7_B, 50_B});
}

TEST_CASE("phases: a program may run while its weights sleep, and what it frees stays away",
          "[sim][phases]") {
  const Sleeper weights{.program = 0, .parts = {"parameter"}};
  const PhasedRun run = phased_run({trainer()},
                                   {{.name = "first", .program = 0},
                                    {.name = "second", .program = 0, .asleep = {weights}},
                                    {.name = "after"}},
                                   1);
  CHECK(event_lines(run) ==
        "step 0\nphase first\nphase first\na 0 100 0 parameter\na 1 10 0 activation\nf 1\n"
        "phase second\nf 0\nphase second\na 2 10 0\nf 2\na 3 7 0\n"
        "phase after\nphase after\n");
}

TEST_CASE("phases: settings are applied before what sleeps and wakes", "[sim][phases]") {
  const PhasedRun run = phased_run(
      {engine()}, {{.name = "serve", .program = 0, .settings = "max_split_size_mb:32"}}, 1);
  CHECK(event_lines(run) ==
        "step 0\nphase serve\nsetconf max_split_size_mb:32\nphase serve\na 0 50 0\na 1 60 3\n");
}
