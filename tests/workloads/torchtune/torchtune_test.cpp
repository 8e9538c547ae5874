// torchtune's decoder and its recipe's step: what norms keep, and in which order parameters come.
#include <algorithm>
#include <map>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/trace_blocks.hpp"

using namespace highwater;
using namespace highwater::distributed_runs;

namespace {

constexpr std::int64_t kTokens = 2 * 48;

TrainingPlan torchtune_plan() {
  TrainingPlan plan;
  plan.model = small_llama();
  plan.framework = Framework::torchtune;
  plan.model_code = ModelCode::torchtune;
  plan.precision = Precision::bf16;
  plan.loss.kind = LossKind::chunked;
  plan.optimizer.impl = OptimizerImpl::fused;
  plan.batch = 2;
  plan.seq = {48};
  plan.steps = 2;
  return plan;
}

/// Blocks of `bytes` that are there when the loss of the first step begins.
std::int64_t kept_for_backward(const TrainingPlan& plan, std::int64_t bytes) {
  const RequestTrace trace = generate(plan);
  std::map<std::uint64_t, std::int64_t> live;
  for (const Event& event : trace.events) {
    if (event.kind == EventKind::phase && trace.tables.strings[event.text()] == "loss") {
      break;
    }
    if (event.kind == EventKind::alloc) {
      live[event.allocation.value()] = static_cast<std::int64_t>(event.value);
    } else if (event.kind == EventKind::free) {
      live.erase(event.allocation.value());
    }
  }
  return std::ranges::count(live, bytes, [](const auto& block) { return block.second; });
}

std::vector<std::int64_t> sizes_of(const TrainingPlan& plan, Category category) {
  std::vector<std::int64_t> sizes;
  for (const TraceBlock& block : blocks_of(plan)) {
    if (block.category == category) {
      sizes.push_back(block.bytes);
    }
  }
  return sizes;
}

}  // namespace

TEST_CASE("torchtune: each norm keeps two tensors in fp32, what it got and what it normalized",
          "[workloads][torchtune]") {
  TrainingPlan plan = torchtune_plan();
  auto config = plan.model.config.as<LlamaConfig>();
  config.intermediate_size = 320;  // no other tensor is as large
  plan.model.config = config;
  constexpr std::int64_t kWide = kTokens * 128 * 4;
  constexpr int kNorms = 2 * 2 + 1;
  CHECK(kept_for_backward(plan, kWide) == 2 * kNorms);
}

TEST_CASE("torchtune: layers are made before the embedding, and the optimizer has it first",
          "[workloads][torchtune]") {
  constexpr std::int64_t kEmbedding = 512 * 128 * 2;
  constexpr std::int64_t kQuery = 128 * 128 * 2;
  const TrainingPlan plan = torchtune_plan();
  const auto parameters = sizes_of(plan, Category::parameter);
  CHECK(parameters.front() == kQuery);
  CHECK(parameters.back() == 128 * 2);  // the last norm, after the head
  const auto states = sizes_of(plan, Category::optimizer_state);
  CHECK(std::ranges::find(states, kEmbedding) < std::ranges::find(states, kQuery));
}

TEST_CASE("torchtune: the sum of the loss lives from the first micro-batch to the next step",
          "[workloads][torchtune]") {
  TrainingPlan plan = torchtune_plan();
  plan.grad_accum = 2;
  const auto blocks = blocks_of(plan);
  const auto lasts = [](const TraceBlock& block) {
    return block.bytes == 4 && block.born_in == 1 && block.freed_in == 2;
  };
  CHECK(std::ranges::any_of(blocks, lasts));
}
