// Blocks that other streams use come back later where the GPU is behind the host.
#include "tools/studies/runs/run_ahead.hpp"

#include <catch2/catch.hpp>

#include "tools/studies/runs/simulate_run.hpp"

using namespace highwater;

namespace {

const OptionWords kSharded{
    {"model", "gpt2"}, {"batch", "2"}, {"seq", "256"}, {"dp", "4"}, {"dp-kind", "fsdp1"}};

std::optional<LateRun> late_run_of(const OptionWords& words, const MemoryRequest& memory = {}) {
  const PlannedRun run = checked_run(words);
  const Simulation simulation = simulate_requests(run, memory);
  return with_late_gpu(run, memory, *simulation.trace, simulation.replay.result.peak);
}

}  // namespace

TEST_CASE("run ahead: the worst of a late GPU is the plan with that event lag", "[simulate]") {
  const std::optional<LateRun> late =
      late_run_of(kSharded, {.capacity = Bytes{std::uint64_t{80} << 30U}});
  REQUIRE(late.has_value());
  const auto reserved_at = [](const std::string& lag) {
    return simulate_peaks(checked_run(with_words(kSharded, {{"event-lag", lag}})), {})
        .peak.reserved;
  };
  CHECK(late->peak.reserved == reserved_at(std::to_string(late->event_lag)));
  CHECK(late->peak.reserved >= reserved_at("1000"));
  CHECK(late->peak.reserved > reserved_at("0"));
  CHECK(late->fits == true);
}

TEST_CASE("run ahead: none where nothing waits, or where the lag is given", "[simulate]") {
  CHECK_FALSE(late_run_of({{"model", "gpt2"}, {"batch", "2"}, {"seq", "256"}}));
  CHECK_FALSE(late_run_of(with_words(kSharded, {{"event-lag", "0"}})));
}
