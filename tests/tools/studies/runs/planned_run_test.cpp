// What is said beside the answer to a plan.
#include "tools/studies/runs/planned_run.hpp"

#include <algorithm>

#include <catch2/catch.hpp>

using namespace highwater;

// LLaMA with two micro-batches a step under PyTorch 2.10: 2.90 GiB as it is, 2.37 GiB with a pause
// after each backward; 2.36 GiB under 2.15 either way.
TEST_CASE("planned run: DDP's first buckets may live longer from 2.8 to 2.14", "[simulate]") {
  const auto is_told = [](const OptionWords& words) {
    const PlannedRun run = checked_run(with_words({{"model", "gpt2"}, {"dp", "2"}}, words));
    return std::ranges::any_of(run.notes, [](const std::string& note) {
      return note.find("DDP's first buckets") != std::string::npos;
    });
  };
  CHECK(is_told({{"torch", "2.10"}}));
  CHECK(is_told({{"torch", "2.8"}}));
  CHECK_FALSE(is_told({{"torch", "2.7"}}));
  CHECK_FALSE(is_told({{"torch", "2.15"}}));
  CHECK_FALSE(is_told({{"torch", "2.10"}, {"find-unused-parameters", "true"}}));
  CHECK_FALSE(is_told({{"torch", "2.10"}, {"dp-kind", "fsdp2"}}));
}
