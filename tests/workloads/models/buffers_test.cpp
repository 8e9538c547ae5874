// Buffers that a release's attention moves to the device: GPT-2's and GPT-Neo's __init__ in the
// wheels of transformers 4.57.1, 5.1.0 and 5.2.0.
#include <string>

#include <catch2/catch.hpp>

#include "tests/support/tiny_llama.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/training/generate.hpp"

using namespace highwater;

namespace {

constexpr std::int64_t kPositions = 96;
constexpr std::uint64_t kMask{96UL * 96UL};  // bool
constexpr std::int64_t kLayers = 3;

template <class Config>
TrainingPlan plan_of(Config config, const std::string& transformers) {
  TrainingPlan plan = test::tiny_llama_plan(500);
  plan.model.config = config;
  plan.attention = Attention::eager;
  plan.precision = Precision::fp32;
  plan.seq = {16};
  plan.init = ModelInit::cpu;
  plan.steps = 1;
  plan.versions.transformers = transformers;
  return plan;
}

Gpt2Config gpt2() {
  Gpt2Config config;
  config.n_positions = kPositions;
  config.n_layer = kLayers;
  config.n_embd = 64;
  config.n_head = 4;
  return config;
}

/// Requests of that size before the first step.
std::int64_t moved(const TrainingPlan& plan, std::uint64_t bytes) {
  const RequestTrace trace = generate(plan);
  std::int64_t count = 0;
  for (const Event& event : trace.events) {
    if (event.kind == EventKind::step) {
      break;
    }
    count += event.kind == EventKind::alloc && event.value == bytes ? 1 : 0;
  }
  return count;
}

}  // namespace

TEST_CASE("GPT-2 of transformers before 5.2 moves a causal mask for each layer", "[buffers]") {
  CHECK(moved(plan_of(gpt2(), "5.1"), kMask) == kLayers);
  CHECK(moved(plan_of(gpt2(), "5.2"), kMask) == 0);
}

TEST_CASE("GPT-2 of transformers 4 moves a number to mask with, too", "[buffers]") {
  const std::uint64_t number = 4;
  CHECK(moved(plan_of(gpt2(), "4.57"), number) == moved(plan_of(gpt2(), "5.1"), number) + kLayers);
}
