// DistributedDataParallel: buckets by hand, and what the wrapper changes in a trace.
#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/recorded_releases.hpp"
#include "tests/support/trace_blocks.hpp"
#include "workloads/distributed/broadcast_coalesced.hpp"
#include "workloads/distributed/bucket_assignment.hpp"
#include "workloads/plan/rules/plan_problems.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/training/generate.hpp"

using namespace highwater;
using namespace highwater::distributed_runs;

namespace {

using eager::Runtime;
using eager::Tensor;

Tensor host_tensor(Runtime& runtime, std::int64_t elements, DType dtype = DType::fp32) {
  return eager::empty_on(runtime, eager::Place::host, {elements}, dtype);
}

TrainingPlan replicated(int ranks = 2) {
  TrainingPlan plan;
  plan.versions = test::kRecordedReleases;
  plan.model = small_gpt2();
  plan.batch = 2;
  plan.seq = {64};
  plan.parallel.dp = ranks;
  return plan;
}

// The last steps' gradients are alive if nothing sets them to None.
std::vector<TraceBlock> with_live_gradients(TrainingPlan plan) {
  plan.zero_grad_at = ZeroGradAt::start;
  return blocks_of(plan);
}

std::vector<std::int64_t> buckets_of_second_step(const TrainingPlan& plan) {
  std::vector<std::int64_t> bytes;
  for (const TraceBlock& block : blocks_of(plan)) {
    if (block.category == Category::communication && block.born_in == 2 && !block.is_freed) {
      bytes.push_back(block.bytes);
    }
  }
  return bytes;
}

}  // namespace

TEST_CASE("ddp: buckets are closed once they reach their limit", "[workloads][ddp]") {
  Runtime runtime(default_gpu(), {2, 6}, {5, 12});
  std::vector<Tensor> tensors;
  for (const std::int64_t elements : {10, 20, 30, 40, 50}) {
    tensors.push_back(host_tensor(runtime, elements));
  }
  using Assignment = dist::BucketAssignment;
  CHECK(dist::assign_buckets(tensors, std::array{dist::kNoLimit}) == Assignment{{0, 1, 2, 3, 4}});
  // 40 bytes reach the first limit; 80 + 120 reach the second one exactly, 160 + 200 exceed it.
  CHECK(dist::assign_buckets(tensors, std::array<std::int64_t, 2>{40, 200}) ==
        Assignment{{0}, {1, 2}, {3, 4}});
  // What is left over is a bucket, too.
  CHECK(dist::assign_buckets(tensors, std::array<std::int64_t, 1>{240}) ==
        Assignment{{0, 1, 2}, {3, 4}});
  const std::array<std::size_t, 5> order{4, 3, 2, 1, 0};
  CHECK(dist::assign_buckets(tensors, std::array<std::int64_t, 1>{240}, order) ==
        Assignment{{4, 3, 2}, {1, 0}});
}

TEST_CASE("ddp: a bucket holds one dtype, and buckets are sorted by what is first in them",
          "[workloads][ddp]") {
  Runtime runtime(default_gpu(), {2, 6}, {5, 12});
  const std::vector<Tensor> tensors{
      host_tensor(runtime, 8, DType::fp32), host_tensor(runtime, 8, DType::bf16),
      host_tensor(runtime, 8, DType::fp32), host_tensor(runtime, 8, DType::bf16)};
  CHECK(dist::assign_buckets(tensors, std::array<std::int64_t, 1>{32}) ==
        dist::BucketAssignment{{0}, {1, 3}, {2}});
}

TEST_CASE("ddp: at most two broadcast blocks exist, and a tensor alone needs none",
          "[workloads][ddp]") {
  Runtime runtime(default_gpu(), {2, 6}, {5, 12});
  dist::ProcessGroup group(runtime, 4, CommBackend::nccl);
  {
    std::vector<Tensor> tensors;
    for (int i = 0; i < 7; ++i) {
      tensors.push_back(eager::empty(runtime, {256}, DType::fp32));
    }
    runtime.mark_phase("broadcast");
    dist::broadcast_coalesced(group, tensors, 2048);  // 2 + 2 + 2 + 1 tensors
    runtime.mark_phase("end");
  }
  const RequestTrace trace = runtime.take_trace();
  std::string steps;
  bool is_inside = false;
  for (const Event& event : trace.events) {
    if (event.kind == EventKind::phase) {
      is_inside = trace.tables.strings[event.text()] == "broadcast";
    } else if (is_inside && event.kind == EventKind::alloc) {
      CHECK(event.value == 2048);
      steps += '+';
    } else if (is_inside && event.kind == EventKind::free) {
      steps += '-';
    }
  }
  CHECK(steps == "++-+--");
}

TEST_CASE("ddp: one bucket of all parameters becomes many in the second forward",
          "[workloads][ddp]") {
  const auto blocks = blocks_of(replicated());
  const std::int64_t parameters = bytes_of(blocks, Category::parameter);
  const auto first = std::ranges::find_if(blocks, [&](const TraceBlock& block) {
    return block.category == Category::communication && block.is_freed && block.freed_in == 2 &&
           block.bytes == parameters;
  });
  REQUIRE(first != blocks.end());
  CHECK(first->born_in == 0);
  CHECK(bytes_of(blocks, Category::communication) == parameters);
}

TEST_CASE("ddp: rebuilt buckets follow the order in which gradients get ready",
          "[workloads][ddp]") {
  TrainingPlan plan = replicated();
  plan.parallel.ddp.bucket_cap_mb = 1e-6;  // one byte: a bucket for each parameter
  const auto buckets = buckets_of_second_step(plan);
  REQUIRE(buckets.size() == 2 + 2 * 12 + 2);
  CHECK(buckets[0] == 128 * 4);  // the last norm
  CHECK(buckets[1] == 128 * 4);
  CHECK(buckets[buckets.size() - 2] == 256 * 128 * 4);  // positions
  CHECK(buckets.back() == 512 * 128 * 4);               // tied head and table: twice used
}

TEST_CASE("ddp: the program's bucket size counts for the first bucket, too", "[workloads][ddp]") {
  TrainingPlan plan = replicated();
  const auto by_default = buckets_of_second_step(plan);  // 1 MiB, then the rest
  plan.parallel.ddp.bucket_cap_mb = 25;
  CHECK(by_default.size() == 2);
  CHECK(by_default[0] >= 1 << 20);
  CHECK(buckets_of_second_step(plan).size() == 1);
}

TEST_CASE("ddp: bucket views save a copy of the gradients", "[workloads][ddp]") {
  TrainingPlan plan = replicated();
  const auto copied = with_live_gradients(plan);
  plan.parallel.ddp.bucket_view = true;
  const auto viewed = with_live_gradients(plan);
  const std::int64_t parameters = bytes_of(copied, Category::parameter);
  CHECK(bytes_of(copied, Category::gradient) == parameters);
  CHECK(bytes_of(copied, Category::communication) == parameters);
  CHECK(bytes_of(viewed, Category::gradient) == parameters);
  CHECK(bytes_of(viewed, Category::communication) == 0);
}

TEST_CASE("ddp: without no_sync buckets are rebuilt in the second micro-batch",
          "[workloads][ddp]") {
  TrainingPlan plan = replicated();
  plan.grad_accum = 2;
  const auto step_of_rebuild = [](const TrainingPlan& accumulating) {
    const auto blocks = blocks_of(accumulating);
    const std::int64_t parameters = bytes_of(blocks, Category::parameter);
    const auto first = std::ranges::find_if(blocks, [&](const TraceBlock& block) {
      return block.category == Category::communication && block.bytes == parameters &&
             block.freed_in > 0;  // not the broadcast of the parameters
    });
    return first->freed_in - 1;
  };
  CHECK(step_of_rebuild(plan) == 0);
  plan.parallel.no_sync = true;
  CHECK(step_of_rebuild(plan) == 1);
}

TEST_CASE("ddp: a static graph rebuilds one iteration later", "[workloads][ddp]") {
  TrainingPlan plan = replicated();
  plan.parallel.ddp.static_graph = true;
  const auto blocks = blocks_of(plan);
  const auto rebuilt = std::ranges::count_if(blocks, [](const TraceBlock& block) {
    return block.category == Category::communication && block.born_in == 3 && !block.is_freed;
  });
  CHECK(rebuilt == 2);
}

TEST_CASE("ddp: buffers are broadcast in each forward that follows a reduction",
          "[workloads][ddp]") {
  TrainingPlan plan = replicated();
  plan.model = small_llama();  // two tables of 16 frequencies
  plan.grad_accum = 3;
  const auto broadcasts = [](const TrainingPlan& accumulating) {
    const auto blocks = blocks_of(accumulating);
    return std::ranges::count_if(blocks, [](const TraceBlock& block) {
      return block.category == Category::communication && block.phase == "forward" &&
             block.bytes == 2 * 16 * 4;
    });
  };
  CHECK(broadcasts(plan) == 3 * 3);
  plan.parallel.no_sync = true;
  CHECK(broadcasts(plan) == 3);
}

TEST_CASE("ddp: apart from its own blocks the trace is that of one GPU", "[workloads][ddp]") {
  const auto others = [](const TrainingPlan& plan) {
    std::vector<std::int64_t> bytes;
    for (const TraceBlock& block : blocks_of(plan)) {
      if (block.category != Category::communication) {
        bytes.push_back(block.bytes);
      }
    }
    return bytes;
  };
  TrainingPlan plan = replicated();
  plan.model = small_llama();
  plan.precision = Precision::bf16;
  plan.checkpoint = {CheckpointKind::full, 1, false};
  const auto on_two = others(plan);
  plan.parallel.dp = 8;
  CHECK(others(plan) == on_two);
  plan.parallel.dp = 1;
  CHECK(others(plan) == on_two);
}

TEST_CASE("ddp: any combination comes to a steady state", "[workloads][ddp][property]") {
  std::mt19937 random(20240607);
  const auto chance = [&] { return random() % 2 == 0; };
  for (int i = 0; i < 60; ++i) {
    TrainingPlan plan = replicated(2 + static_cast<int>(random() % 7));
    plan.steps = 5;
    plan.model = chance() ? small_gpt2() : small_llama();
    plan.precision = std::array{Precision::fp32, Precision::bf16, Precision::amp_bf16,
                                Precision::amp_fp16}[random() % 4];
    plan.checkpoint.kind = chance() ? CheckpointKind::none : CheckpointKind::full;
    plan.grad_accum = 1 + static_cast<int>(random() % 3);
    plan.set_to_none = chance();
    plan.zero_grad_at = chance() ? ZeroGradAt::end : ZeroGradAt::start;
    plan.optimizer.impl = chance() ? OptimizerImpl::foreach : OptimizerImpl::fused;
    plan.lora.rank = chance() ? 0 : 4;
    plan.parallel.ddp.bucket_view = chance();
    plan.parallel.ddp.static_graph = chance();
    plan.parallel.no_sync = !plan.parallel.ddp.static_graph && chance();
    plan.parallel.backend = chance() ? CommBackend::nccl : CommBackend::fake;
    if (chance()) {
      plan.parallel.ddp.bucket_cap_mb = 0.1;
    }
    CAPTURE(i);
    REQUIRE(plan_problems(plan).empty());
    REQUIRE(generator_gaps(plan).empty());
    const RequestTrace trace = generate(plan);
    CHECK(requests_of(trace, 3) == requests_of(trace, 4));
  }
}

TEST_CASE("ddp: a recorded graph leaves the trace as it is", "[workloads][ddp]") {
  TrainingPlan plan = replicated();
  plan.parallel.ddp.static_graph = true;
  const RequestTrace plain = generate(plan);
  const RequestTrace recorded = generate_with_graph(plan).trace;
  REQUIRE(plain.events.size() == recorded.events.size());
  for (std::size_t i = 0; i < plain.events.size(); ++i) {
    REQUIRE(plain.events[i] == recorded.events[i]);
  }
}

TEST_CASE("ddp: blocks that NCCL used wait for its stream, others and the fake group's do not",
          "[workloads][ddp]") {
  const auto recorded_streams = [](const TrainingPlan& plan) {
    const RequestTrace trace = generate(plan);
    int count = 0;
    for (const Event& event : trace.events) {
      count += event.kind == EventKind::record_stream ? 1 : 0;
    }
    return count;
  };
  TrainingPlan plan = replicated(4);
  // The own count, all in one block, four answers, shapes; one broadcast; two index lists and the
  // first bucket.
  CHECK(recorded_streams(plan) == 1 + 1 + 4 + 1 + 1 + 3);
  plan.parallel.backend = CommBackend::fake;
  CHECK(recorded_streams(plan) == 0);
}
