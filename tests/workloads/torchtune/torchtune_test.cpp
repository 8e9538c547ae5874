// torchtune's decoder and its recipe's step: what norms keep, and in which order parameters come.
#include <algorithm>
#include <map>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/trace_blocks.hpp"
#include "workloads/plan/training_plan.hpp"

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

/// Layers in NF4, with keys and values as wide as queries.
TrainingPlan qlora_plan() {
  TrainingPlan plan = torchtune_plan();
  auto config = plan.model.config.as<LlamaConfig>();
  config.num_key_value_heads = config.num_attention_heads;
  config.intermediate_size = 512;
  plan.model.config = config;
  plan.lora.rank = 8;
  plan.quantization = {
      .weights = WeightFormat::nf4, .double_quant = true, .prepares_training = false};
  return plan;
}

/// Sizes of the parameters' blocks that are there at the end.
std::vector<std::int64_t> kept_parameters(const TrainingPlan& plan) {
  std::vector<std::int64_t> sizes;
  for (const TraceBlock& block : blocks_of(plan)) {
    if (block.category == Category::parameter && !block.is_freed) {
      sizes.push_back(block.bytes);
    }
  }
  return sizes;
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

// torchao 0.11, dtypes/nf4tensor.py: two codes a byte, a scale of a byte for each 64 numbers, a
// factor of 2 bytes for each 256 scales, their mean, and 16 values.
TEST_CASE("torchtune: a weight in NF4 keeps its codes and their nested scales",
          "[workloads][torchtune]") {
  constexpr std::int64_t kNumbers = 512 * 128;
  constexpr std::int64_t kOfMlp = 2 * 3;
  const auto kept = kept_parameters(qlora_plan());
  CHECK(std::ranges::count(kept, kNumbers / 2) == kOfMlp);
  CHECK(std::ranges::count(kept, kNumbers / 64) == kOfMlp);
  CHECK(std::ranges::count(kept, kNumbers / 64 / 256 * 2) == kOfMlp);
  CHECK(std::ranges::count(kept, 2) == 2 * 7);
  CHECK(std::ranges::count(kept, 16 * 2) == 2 * 7);
}

// double_quantize_scalers: assert scalers_1.numel() % scaler_block_size == 0
TEST_CASE("torchtune: NF4 refuses weights whose scales fill no block", "[workloads][torchtune]") {
  TrainingPlan plan = qlora_plan();
  auto config = plan.model.config.as<LlamaConfig>();
  config.intermediate_size = 192;
  plan.model.config = config;
  CHECK_THROWS_WITH(generate(plan), Catch::Contains("16384 numbers for each factor") &&
                                        Catch::Contains("128 inputs and 192 outputs"));
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
