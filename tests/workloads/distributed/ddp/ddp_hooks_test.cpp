// DDP's communication hooks and its search for unused parameters, by hand.
#include <algorithm>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/recorded_releases.hpp"
#include "tests/support/trace_blocks.hpp"
#include "workloads/plan/rules/plan_problems.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/training/generate.hpp"

using namespace highwater;
using namespace highwater::distributed_runs;

namespace {

// small_gpt2: two blocks of 198272 parameters, a norm of 256, positions 256 x 128, a tied table of
// 512 x 128.
constexpr std::int64_t kParameters = 2 * 198272 + 256 + 256 * 128 + 512 * 128;

TrainingPlan hooked(DdpCommHook hook) {
  TrainingPlan plan;
  plan.versions = test::kRecordedReleases;
  plan.model = small_gpt2();
  plan.batch = 2;
  plan.seq = {64};
  plan.parallel.dp = 4;
  plan.parallel.ddp.bucket_cap_mb = 25;  // all gradients in one bucket
  plan.parallel.ddp.comm_hook = hook;
  return plan;
}

// Temporary blocks of communication in the second step's backward.
std::vector<std::int64_t> sent_in_second_step(const TrainingPlan& plan) {
  std::vector<std::int64_t> bytes;
  for (const TraceBlock& block : blocks_of(plan)) {
    if (block.category == Category::communication && block.born_in == 2 &&
        block.phase == "backward") {
      bytes.push_back(block.bytes);
    }
  }
  return bytes;
}

}  // namespace

TEST_CASE("ddp hooks: an all-reduce of the program's own asks for no more memory",
          "[workloads][ddp]") {
  CHECK(blocks_of(hooked(DdpCommHook::none)) == blocks_of(hooked(DdpCommHook::allreduce)));
}

TEST_CASE("ddp hooks: compression costs half a bucket, unless gradients are that small already",
          "[workloads][ddp]") {
  TrainingPlan plan = hooked(DdpCommHook::fp16_compress);
  CHECK(sent_in_second_step(plan) == std::vector<std::int64_t>{kParameters * 2});
  plan.parallel.ddp.comm_hook = DdpCommHook::bf16_compress;
  CHECK(sent_in_second_step(plan) == std::vector<std::int64_t>{kParameters * 2});
  plan.precision = Precision::bf16;
  CHECK(sent_in_second_step(plan).empty());
}

TEST_CASE("ddp hooks: PowerSGD keeps errors, P and Q from its first iteration on",
          "[workloads][ddp]") {
  TrainingPlan plan = hooked(DdpCommHook::powersgd);
  plan.parallel.ddp.power_sgd = {.rank = 1, .start_iter = 2};
  plan.steps = 4;
  std::vector<std::int64_t> kept;
  for (const TraceBlock& block : blocks_of(plan)) {
    if (block.category == Category::communication && block.born_in == 3 && !block.is_freed) {
      kept.push_back(block.bytes);
    }
  }
  // Rows and columns of the matrices: twice qkv 128 x 384, output 128 x 128, 128 x 512 and
  // 512 x 128; positions 256 x 128, table 512 x 128.
  constexpr std::int64_t kRows = 2 * (128 + 128 + 128 + 512) + 256 + 512;
  constexpr std::int64_t kColumns = 2 * (384 + 128 + 512 + 128) + 128 + 128;
  // The first error, of zeros, is gone; the one of the third step goes in the fourth.
  CHECK(kept == std::vector<std::int64_t>{kRows * 4, kColumns * 4});
}

TEST_CASE("ddp hooks: PowerSGD before its first iteration is an all-reduce", "[workloads][ddp]") {
  CHECK(blocks_of(hooked(DdpCommHook::powersgd)) == blocks_of(hooked(DdpCommHook::none)));
}

TEST_CASE("ddp hooks: a workspace of cuBLAS for each stream that PowerSGD's callbacks run on",
          "[workloads][ddp]") {
  TrainingPlan plan = hooked(DdpCommHook::powersgd);
  plan.parallel.ddp.power_sgd.start_iter = 2;
  const auto workspaces = [&](int steps) {
    plan.steps = steps;
    const auto blocks = blocks_of(plan);
    return std::ranges::count_if(blocks, [](const TraceBlock& block) {
      return block.category == Category::workspace && !block.is_freed;
    });
  };
  // P and Q are multiplied on one stream each per iteration, and the streams take turns.
  CHECK(workspaces(3) == workspaces(2) + 2);
  CHECK(workspaces(5) == workspaces(2) + 6);
}

TEST_CASE("ddp: looking for unused parameters costs a map and copies of the outputs",
          "[workloads][ddp]") {
  TrainingPlan plan = hooked(DdpCommHook::none);
  plan.parallel.ddp.find_unused = true;
  const auto blocks = blocks_of(plan);
  const auto maps = std::ranges::count_if(blocks, [](const TraceBlock& block) {
    return block.category == Category::communication && block.bytes == 28 * 4 && !block.is_freed;
  });
  CHECK(maps == 1);  // 2 tables, 2 x 12 of the blocks, 2 of the norm: int32 each
  // Buckets are those of the constructor: none is made again.
  CHECK(std::ranges::none_of(blocks, [](const TraceBlock& block) {
    return block.category == Category::communication && block.born_in > 0;
  }));
  // Both outputs are copied: the loss, and logits of 2 x 64 x 512.
  const auto outputs = [](const std::vector<TraceBlock>& all) {
    return std::ranges::count_if(all, [](const TraceBlock& block) {
      return block.born_in == 2 && block.phase == "loss" &&
             (block.bytes == 4 || block.bytes == 2 * 64 * 512 * 4);
    });
  };
  plan.parallel.ddp.find_unused = false;
  CHECK(outputs(blocks) == outputs(blocks_of(plan)) + 2);
}

TEST_CASE("ddp hooks: what makes no sense is refused", "[workloads][ddp]") {
  TrainingPlan plan = hooked(DdpCommHook::powersgd);
  plan.parallel.ddp.power_sgd.start_iter = 1;
  CHECK(plan_problems(plan).size() == 1);
  plan.parallel.ddp.power_sgd.error_feedback = false;
  plan.parallel.ddp.power_sgd.warm_start = false;
  CHECK(plan_problems(plan).empty());
  plan.parallel.ddp.comm_hook = DdpCommHook::allreduce;
  CHECK(plan_problems(plan).size() == 1);
  plan = hooked(DdpCommHook::allreduce);
  plan.parallel.backend = CommBackend::fake;
  CHECK(plan_problems(plan).size() == 1);
}
