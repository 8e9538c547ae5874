// Whether a plan fits and what would help: margins at their edge, shares of nothing, no remedy.
#include "tools/reports/simulate/simulate_sentences.hpp"

#include <catch2/catch.hpp>

#include "tools/studies/runs/simulate_run.hpp"

using namespace highwater;
using namespace highwater::literals;

namespace {

Simulation reserving(Bytes peak, std::optional<Bytes> available) {
  Simulation simulation;
  simulation.replay.result.peak.reserved = peak;
  simulation.replay.capacity = available;
  simulation.available = available;
  return simulation;
}

Remedy checkpointing(Bytes peak, Bytes available) {
  return {.options = {{"checkpoint", "full"}}, .peak = peak, .available = available};
}

}  // namespace

TEST_CASE("sentences: shares", "[reports][simulate]") {
  CHECK(share(1_MiB, 8_MiB) == "12.5 %");
  CHECK(share(0_B, 8_MiB) == "0.0 %");
  CHECK(share(16_MiB, 8_MiB) == "200.0 %");
  CHECK(share(0_B, 0_B) == "-");
}

TEST_CASE("sentences: a margin is thin below 3 % of the memory", "[reports][simulate]") {
  CHECK(verdict(reserving(97_MiB, 100_MiB), {}) ==
        "FITS in a capacity of 100.00 MiB: peak reserved 97.00 MiB, 3.00 MiB to spare");
  CHECK(verdict(reserving(98_MiB, 100_MiB), {}) ==
        "FITS in a capacity of 100.00 MiB: peak reserved 98.00 MiB, 2.00 MiB to spare, "
        "a thin margin (2.0 %)");
  CHECK(verdict(reserving(100_MiB, 100_MiB), {}) ==
        "FITS in a capacity of 100.00 MiB: peak reserved 100.00 MiB, 0 B to spare, "
        "a thin margin (0.0 %)");
}

TEST_CASE("sentences: a limit of the process is called one", "[reports][simulate]") {
  Simulation limited = reserving(1_GiB, 2_GiB);
  limited.replay.memory_limit = 2_GiB;
  CHECK(verdict(limited, {}) ==
        "FITS in a memory limit of 2.00 GiB: peak reserved 1.00 GiB, 1.00 GiB to spare");
}

TEST_CASE("sentences: unlimited memory that no known GPU has", "[reports][simulate]") {
  CHECK(verdict(reserving(3072_GiB, std::nullopt), {}) ==
        "reserves 3.00 TiB with unlimited memory; it fits on no known GPU");
}

TEST_CASE("sentences: a remedy with its costs, and with a thin margin as one of them",
          "[reports][simulate]") {
  Remedies remedies;
  remedies.fitting = {checkpointing(60_MiB, 100_MiB), checkpointing(99_MiB, 100_MiB)};
  remedies.fitting[0].costs = {"recomputes the forward", "slower"};
  CHECK(remedy_lines(remedies) ==
        std::vector<std::string>{
            "fits with --checkpoint full: 60.00 MiB, 40.00 MiB to spare (recomputes the forward; "
            "slower)",
            "fits with --checkpoint full: 99.00 MiB, 1.00 MiB to spare (a thin margin)"});
  remedies.fitting = {checkpointing(60_MiB, 100_MiB)};
  remedies.fitting[0].own = {{"train.yaml", "gradient_checkpointing: true"},
                             {"the environment", "A=b"}};
  CHECK(remedy_lines(remedies) ==
        std::vector<std::string>{
            "fits with --checkpoint full: 60.00 MiB, 40.00 MiB to spare; in train.yaml: "
            "gradient_checkpointing: true; in the environment: A=b"});
  CHECK(wider_lines({checkpointing(60_MiB, 100_MiB)}) ==
        std::vector<std::string>{"--checkpoint full: 60.00 MiB, 40.00 MiB to spare"});
  CHECK(wider_lines({}).empty());
}

TEST_CASE("sentences: the reason why nothing would have helped", "[reports][simulate]") {
  CHECK(remedies_failed({}) == "No option that Highwater knows lowers the memory of this plan.");
  Remedies remedies;
  remedies.fitting = {checkpointing(60_MiB, 100_MiB)};
  CHECK(remedies_failed(remedies).empty());
  remedies = {.together = checkpointing(120_MiB, 100_MiB)};
  CHECK(remedies_failed(remedies) ==
        "No change of the plan makes it fit, not even all that go together: --checkpoint full: "
        "120.00 MiB (limit 100.00 MiB)");
}
