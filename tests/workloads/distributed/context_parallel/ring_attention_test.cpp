// Attention of ranks that share sequences: the blocks of one call, as PyTorch 2.15 made them, and
// what a plan says of it.
#include "workloads/distributed/context_parallel/ring_attention.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/trace_blocks.hpp"
#include "workloads/distributed/context_parallel/context_parallel.hpp"
#include "workloads/plan/gpu.hpp"
#include "workloads/plan/rules/plan_problems.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/training/ranks.hpp"

using namespace highwater;
using namespace highwater::eager;

namespace {

using Sizes = std::vector<std::int64_t>;

const Gpu& a100() {
  return *find_gpu("a100-80");
}

/// Sizes of the blocks that are made from event `first` on.
Sizes blocks_since(const RequestTrace& trace, std::size_t first) {
  Sizes sizes;
  for (std::size_t i = first; i < trace.events.size(); ++i) {
    if (trace.events[i].kind == EventKind::alloc) {
      sizes.push_back(static_cast<std::int64_t>(trace.events[i].value));
    }
  }
  return sizes;
}

/// [1, heads, 512, 64] on a [1, 512, heads, 64] block, as a projection's result is transposed.
Tensor heads_of(Runtime& runtime, std::int64_t heads) {
  return transpose(empty(runtime, {1, 512, heads, 64}, DType::bf16), 1, 2);
}

Sizes blocks_of_rank(int rank) {
  Runtime runtime(a100(), {2, 15}, {5, 23});
  dist::RingAttention ring(runtime, 2, rank, CommBackend::nccl);
  const Scoped<sdpa::SharedAttention*> shared(runtime.shared_attention, &ring);
  const Tensor query = heads_of(runtime, 8);
  const Tensor key = empty(runtime, {1, 4, 512, 64}, DType::bf16);  // a cache made them contiguous
  const Tensor value = empty(runtime, {1, 4, 512, 64}, DType::bf16);
  const auto first = runtime.event_count();
  const Tensor output =
      scaled_dot_product_attention(query, key, value, {}, {.is_causal = true, .enable_gqa = true});
  return blocks_since(runtime.take_trace(), first);
}

TrainingPlan shared_plan() {
  TrainingPlan plan;
  plan.model = distributed_runs::small_llama();
  plan.framework = Framework::hf;
  plan.use_cache = true;
  plan.parallel.cp = 2;
  plan.parallel.dp_kind = DataParallel::fsdp2;
  plan.precision = Precision::bf16;
  plan.gpu = a100();
  return plan;
}

bool names(const std::vector<std::string>& problems, const std::string& words) {
  return std::ranges::any_of(problems, [&](const std::string& problem) {
    return problem.find(words) != std::string::npos;
  });
}

}  // namespace

// Recorded: keys and values joined and gathered; flash attention with its splits and its random
// state; the result in fp32; flash attention of the second half of the queries; the merge of two
// halves, the same joined with the first half, and the result in bf16.
TEST_CASE("context parallel: the first rank's attention makes the blocks of the recording",
          "[workloads][cp]") {
  CHECK(blocks_of_rank(0) == Sizes{524288, 1048576, 524288, 16384, 32768,   2097152, 16,
                                   8,      1048576, 262144, 8192,  16384,   1048576, 16,
                                   8,      524288,  8192,   8192,  524288,  524288,  524288,
                                   8192,   8192,    8192,   16384, 1048576, 524288});
}

// The last rank's queries all see the first half of the other's keys: nothing is joined.
TEST_CASE("context parallel: the last rank merges whole results", "[workloads][cp]") {
  const Sizes blocks = blocks_of_rank(1);
  CHECK(std::ranges::count(blocks, 1048576) ==
        6);  // gathered, two results in fp32, three of a merge
  CHECK(blocks.back() == 524288);
}

TEST_CASE("context parallel: buffers are cut in place, and the shards live as long as the scope",
          "[workloads][cp]") {
  Runtime runtime(a100(), {2, 15}, {5, 23});
  dist::RingAttention ring(runtime, 2, 0, CommBackend::nccl);
  Tensor tokens = empty(runtime, {3, 64}, DType::int64);
  const auto first = runtime.event_count();
  {
    const std::array buffers{&tokens};
    const dist::ContextParallel scope(ring, 2, buffers);
    CHECK(tokens.sizes() == Dims{3, 32});
    CHECK(runtime.shared_attention == &ring);
  }
  CHECK(runtime.shared_attention == nullptr);
  const RequestTrace trace = runtime.take_trace();
  // Indices: all, heads, tails, both halves, joined; tokens rearranged, cut, copied once more.
  CHECK(blocks_since(trace, first) == Sizes{256, 16, 16, 128, 128, 256, 1536, 768, 768});
}

TEST_CASE("context parallel: shards count all ranks, and each part of a sequence is a kind of rank",
          "[workloads][cp]") {
  TrainingPlan plan = shared_plan();
  plan.parallel.dp = 2;
  const auto classes = rank_classes(plan);
  REQUIRE(classes.size() == 2);
  CHECK(classes[0].what == "shard 0 of 4, part 0 of 2 of each sequence");
  CHECK(classes[1].place.cp == 1);
  CHECK(is_fsdp2(shared_plan().parallel));
}

TEST_CASE("context parallel: what PyTorch refuses and what is not simulated", "[workloads][cp]") {
  CHECK(plan_problems(shared_plan()).empty());
  CHECK(generator_gaps(shared_plan()).empty());
  TrainingPlan plan = shared_plan();
  plan.use_cache = false;
  CHECK(names(plan_problems(plan), "packed sequences"));
  plan.framework = Framework::accelerate_fsdp2;
  CHECK(plan_problems(plan).empty());
  plan = shared_plan();
  plan.attention = Attention::eager;
  CHECK(names(plan_problems(plan), "attention eager"));
  plan = shared_plan();
  plan.attention = Attention::sdpa_math;
  CHECK(names(plan_problems(plan), "fused attention"));
  plan = shared_plan();
  plan.parallel.dp_kind = DataParallel::ddp;
  CHECK(names(generator_gaps(plan), "--dp-kind fsdp2"));
  plan = shared_plan();
  plan.seq = {1022};
  CHECK(names(generator_gaps(plan), "balanced"));
  plan = shared_plan();
  plan.versions.torch = "2.11";
  CHECK(names(generator_gaps(plan), "2.12"));
}
