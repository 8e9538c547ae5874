// Stages of torch.distributed.pipelining in fully_shard, DDP and DTensors: who holds what, what is
// gathered and reduced when, what stages hand on, and what is refused.
#include <algorithm>
#include <optional>
#include <string>

#include <catch2/catch.hpp>

#include "tests/support/recorded_releases.hpp"
#include "tests/support/step_requests.hpp"
#include "tests/workloads/pipelining/small_sizes.hpp"
#include "workloads/plan/model/families/families.hpp"
#include "workloads/plan/rules/plan_problems.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/training/generate.hpp"

using namespace highwater;
using distributed_runs::requests_of;

namespace {

constexpr std::int64_t kParamsOfBlock = 9;  ///< q, k, v, o, gate, up, down, two norms

/// Query and output 64 x 64, key and value 32 x 64, three of 96 x 64, two norms.
constexpr std::int64_t kBlockElements = 2 * 64 * 64 + 2 * 32 * 64 + 3 * 96 * 64 + 2 * 64;
/// The first of two stages: the table and four of eight blocks.
constexpr std::int64_t kFirstStageElements = kVocab * kHidden + 4 * kBlockElements;

TrainingPlan plan_of(int rank, int micro_batches) {
  TrainingPlan plan;
  plan.versions = test::kRecordedReleases;
  plan.model = {"small", "a test",
                LlamaConfig{.vocab_size = kVocab,
                            .hidden_size = kHidden,
                            .intermediate_size = 96,
                            .num_hidden_layers = 8,
                            .num_attention_heads = 4,
                            .num_key_value_heads = 2}};
  plan.batch = kBatch;
  plan.seq = {kSeq};
  plan.steps = 3;
  plan.grad_accum = micro_batches;
  plan.parallel.pp = 2;
  plan.parallel.dp = 2;
  plan.parallel.rank = rank;
  return plan;
}

TrainingPlan sharded_plan(int rank, int micro_batches) {
  TrainingPlan plan = plan_of(rank, micro_batches);
  plan.parallel.dp_kind = DataParallel::fsdp2;
  plan.parallel.fsdp.reshard = Reshard::never;
  plan.init = ModelInit::meta;
  return plan;
}

/// pp 2 x dp 2 x tp 2, ranks 0 to 3 on the first stage.
TrainingPlan three_axes(int rank) {
  TrainingPlan plan = sharded_plan(rank, 4);
  plan.model = {
      "small", "a test",
      TorchtitanConfig{
          .vocab = kVocab, .dim = kHidden, .ffn = 96, .layers = 8, .heads = 4, .kv_heads = 2}};
  plan.loss.kind = LossKind::flat;
  plan.parallel.tp = 2;
  plan.parallel.tp_kind = TensorParallel::dtensor;
  plan.parallel.sequence_parallel = true;
  plan.parallel.loss_parallel = true;
  return plan;
}

/// Bytes of a category that are there after the last step.
std::int64_t bytes_left(const TrainingPlan& plan, Category category) {
  const RequestTrace trace = generate(plan);
  std::vector<std::int64_t> bytes;
  std::int64_t left = 0;
  for (const Event& event : trace.events) {
    if (event.kind == EventKind::alloc) {
      bytes.push_back(event.category == category ? static_cast<std::int64_t>(event.value) : 0);
      left += bytes.back();
    } else if (event.kind == EventKind::free) {
      left -= bytes[event.allocation.index()];
    }
  }
  return left;
}

/// Blocks of a category that step `wanted` allocates.
std::int64_t blocks_of(const TrainingPlan& plan, Category category, std::uint64_t wanted) {
  const RequestTrace trace = generate(plan);
  std::int64_t count = 0;
  bool is_wanted = false;
  for (const Event& event : trace.events) {
    if (event.kind == EventKind::step) {
      is_wanted = event.value == wanted;
    }
    count += is_wanted && event.kind == EventKind::alloc && event.category == category ? 1 : 0;
  }
  return count;
}

/// Allocations of so many bytes, those of one category if it is given.
std::int64_t requests_of_size(const TrainingPlan& plan, std::int64_t bytes,
                              std::optional<Category> category = std::nullopt) {
  const RequestTrace trace = generate(plan);
  std::int64_t count = 0;
  for (const Event& event : trace.events) {
    const bool is_alike = event.kind == EventKind::alloc &&
                          static_cast<std::int64_t>(event.value) == bytes &&
                          event.category == category.value_or(event.category);
    count += is_alike ? 1 : 0;
  }
  return count;
}

bool is_refused(const TrainingPlan& plan, const std::string& sentence) {
  const auto names_it = [&](const std::string& problem) { return problem.starts_with(sentence); };
  return std::ranges::any_of(plan_problems(plan), names_it) ||
         std::ranges::any_of(generator_gaps(plan), names_it);
}

}  // namespace

TEST_CASE("pipelining: fully_shard cuts a stage over its ranks", "[workloads][pipeline]") {
  CHECK(bytes_left(sharded_plan(0, 4), Category::parameter) == 4 * kFirstStageElements / 2);
  CHECK(bytes_left(sharded_plan(1, 4), Category::parameter) == 4 * kFirstStageElements / 2);
  // The last stage: the head is as large as the table, and a norm.
  CHECK(bytes_left(sharded_plan(2, 4), Category::parameter) ==
        4 * (kFirstStageElements + kHidden) / 2);
}

// reshard_after_forward is false, and backward gives nothing back before the last micro-batch.
TEST_CASE("pipelining: parameters are gathered once a step, however many micro-batches",
          "[workloads][pipeline]") {
  for (const int micro_batches : {2, 3, 4}) {
    CHECK(blocks_of(sharded_plan(0, micro_batches), Category::weight_copy, 1) ==
          4 * kParamsOfBlock + 1);
  }
  // A middle stage's root has no parameters, so no group: two blocks of two middle stages of four.
  TrainingPlan middle = sharded_plan(2, 4);
  middle.parallel.pp = 4;
  CHECK(blocks_of(middle, Category::weight_copy, 1) == 2 * kParamsOfBlock);
  // 1F1B on the last stage: forward and backward take turns. A forward gives its blocks back, and
  // backward gathers them again and keeps them, which the next forward finds.
  TrainingPlan reshards = sharded_plan(2, 4);
  reshards.parallel.fsdp.reshard = Reshard::always;
  CHECK(blocks_of(reshards, Category::weight_copy, 1) > 4 * kParamsOfBlock + 2);
}

// One bucket holds the stage; it is made again for the order of gradients, in the second step. All
// forwards are within no_sync(), so buffers are broadcast for the trial only.
TEST_CASE("pipelining: DDP's buckets hold a stage", "[workloads][pipeline]") {
  TrainingPlan plan = plan_of(0, 4);
  plan.parallel.ddp.bucket_cap_mb = 25;
  CHECK(requests_of_size(plan, 4 * kFirstStageElements) == 2);
  plan.parallel.dp = 1;
  plan.parallel.ddp = {};
  CHECK(requests_of_size(plan, 4 * kFirstStageElements) == 0);
}

// The first stage has a buffer for each micro-batch's gradient; with sequence parallelism it holds
// this rank's part of the sequence.
TEST_CASE("pipelining: stages hand on parts of the sequence", "[workloads][pipeline]") {
  constexpr std::int64_t kBoundary = 4 * kBatch * kSeq * kHidden;
  TrainingPlan whole = plan_of(0, 4);
  whole.parallel.dp = 1;
  CHECK(requests_of_size(whole, kBoundary, Category::communication) == 4);
  for (const int rank : {0, 3}) {
    CHECK(requests_of_size(three_axes(rank), kBoundary / 2, Category::communication) == 4);
  }
}

TEST_CASE("pipelining: steps of composed stages repeat", "[workloads][pipeline]") {
  for (const int rank : {0, 4}) {
    for (const PipelineSchedule schedule :
         {PipelineSchedule::gpipe, PipelineSchedule::one_f_one_b, PipelineSchedule::interleaved}) {
      TrainingPlan composed = three_axes(rank);
      TrainingPlan sharded = sharded_plan(rank / 2, 4);
      TrainingPlan replicated = plan_of(rank / 2, 4);
      for (TrainingPlan* plan : {&composed, &sharded, &replicated}) {
        plan->parallel.schedule = schedule;
        plan->steps = 4;
        const RequestTrace trace = generate(*plan);
        CHECK(requests_of(trace, 2) == requests_of(trace, 3));
      }
    }
  }
}

TEST_CASE("pipelining: what is not composed is refused", "[workloads][pipeline]") {
  CHECK(generator_gaps(sharded_plan(0, 4)).empty());
  CHECK(generator_gaps(three_axes(0)).empty());
  CHECK(plan_problems(three_axes(0)).empty());
  TrainingPlan plan = plan_of(0, 4);
  plan.parallel.ddp.static_graph = true;
  CHECK(is_refused(plan, "static-graph with pp"));
  plan = plan_of(0, 4);
  plan.parallel.ddp.comm_hook = DdpCommHook::fp16_compress;
  CHECK(is_refused(plan, "ddp-comm-hook with pp"));
  plan = plan_of(0, 4);
  plan.parallel.no_sync = true;
  CHECK(is_refused(plan, "no-sync with pp"));
  plan = plan_of(0, 4);
  plan.parallel.dp_kind = DataParallel::fsdp1;
  CHECK(is_refused(plan, "pp with dp-kind fsdp1"));
  plan = plan_of(0, 4);
  plan.parallel.schedule = PipelineSchedule::naive;
  CHECK(is_refused(plan, "pp-schedule naive with dp"));
  plan = plan_of(0, 4);
  plan.parallel.offload = Offload::activations;
  CHECK(is_refused(plan, "offload with pp"));
  plan = sharded_plan(0, 4);
  plan.parallel.fsdp.replicas = 2;
  CHECK(is_refused(plan, "dp-replicate with pp"));
  plan = sharded_plan(0, 4);
  plan.lora.rank = 8;
  CHECK(is_refused(plan, "pp with lora"));
  plan = three_axes(0);
  plan.parallel.loss_parallel = false;
  CHECK(is_refused(plan, "pp with tp: the last stage"));
}
