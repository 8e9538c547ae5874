// fully_shard: sizes of shards and flat blocks by hand, and when each one exists.
//
// The small LLaMA has blocks of 147,712 parameters (projections 128x128, 64x128 twice, 128x128,
// 256x128 twice, 128x256; two norms of 128) and 131,200 outside of them (two tables of 512x128, a
// norm), 426,624 in all.
#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/recorded_releases.hpp"
#include "tests/support/trace_blocks.hpp"
#include "workloads/distributed/fsdp2/fsdp_param.hpp"
#include "workloads/kernels/chunk_cat.hpp"
#include "workloads/plan/rules/plan_problems.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/training/generate.hpp"

using namespace highwater;
using namespace highwater::distributed_runs;

namespace {

constexpr std::int64_t kBlock = 147712;
constexpr std::int64_t kRoot = 131200;
constexpr std::int64_t kAll = 2 * kBlock + kRoot;

TrainingPlan sharded(int ranks = 8) {
  TrainingPlan plan;
  plan.versions = test::kRecordedReleases;
  plan.model = small_llama();
  plan.batch = 2;
  plan.seq = {64};
  plan.init = ModelInit::meta;
  plan.parallel.dp = ranks;
  plan.parallel.dp_kind = DataParallel::fsdp2;
  plan.parallel.fsdp.param_dtype = DType::bf16;
  plan.parallel.fsdp.reduce_dtype = DType::fp32;
  return plan;
}

using Bytes64 = std::vector<std::int64_t>;

/// Sizes of the blocks that step `step` makes for collectives in `phase`, in order.
Bytes64 flat_blocks(const TrainingPlan& plan, const std::string& phase, std::uint64_t step = 1) {
  Bytes64 bytes;
  for (const TraceBlock& block : blocks_of(plan)) {
    if (block.category == Category::communication && block.born_in == step + 1 &&
        block.phase == phase) {
      bytes.push_back(block.bytes);
    }
  }
  return bytes;
}

std::int64_t count(const TrainingPlan& plan, Category category, const std::string& phase) {
  const auto blocks = blocks_of(plan);
  return std::ranges::count_if(blocks, [&](const TraceBlock& block) {
    return block.category == category && block.born_in == 2 && block.phase == phase;
  });
}

/// The largest sum of live bytes of a category.
std::int64_t peak_of(const TrainingPlan& plan, Category category) {
  const RequestTrace trace = generate(plan);
  std::map<std::size_t, std::int64_t> live;
  std::int64_t sum = 0;
  std::int64_t peak = 0;
  for (const Event& event : trace.events) {
    if (event.kind == EventKind::alloc && event.category == category) {
      live[event.allocation.index()] = static_cast<std::int64_t>(event.value);
      sum += static_cast<std::int64_t>(event.value);
      peak = std::max(peak, sum);
    } else if (event.kind == EventKind::free && live.contains(event.allocation.index())) {
      sum -= live[event.allocation.index()];
      live.erase(event.allocation.index());
    }
  }
  return peak;
}

/// Streams on which blocks of this size and category are asked for in the first backward.
std::set<std::size_t> streams_of(const TrainingPlan& plan, std::int64_t bytes, Category category) {
  std::set<std::size_t> streams;
  const RequestTrace trace = generate(plan);
  bool is_backward = false;
  for (const Event& event : trace.events) {
    if (event.kind == EventKind::phase) {
      is_backward = trace.tables.strings[event.text()] == "backward";
    } else if (is_backward && event.kind == EventKind::alloc && event.category == category &&
               static_cast<std::int64_t>(event.value) == bytes) {
      streams.insert(event.stream.index());
    }
  }
  return streams;
}

std::string words_of(const RequestTrace& trace) {
  std::string words;
  for (const Event& event : trace.events) {
    words += std::to_string(static_cast<int>(event.kind)) + ":" + std::to_string(event.value) + " ";
  }
  return words;
}

bool mentions(const std::vector<std::string>& problems, const std::string& text) {
  return std::ranges::any_of(
      problems, [&](const auto& problem) { return problem.find(text) != std::string::npos; });
}

}  // namespace

// accelerate 1.15, utils/fsdp_utils.py fsdp2_prepare_model, of a model that its script made on the
// host.
TEST_CASE("fsdp2: accelerate widens weights where they are", "[workloads][fsdp2]") {
  TrainingPlan plan = sharded();
  plan.framework = Framework::trainer;
  plan.precision = Precision::bf16_autocast;
  plan.init = ModelInit::cpu;
  CHECK(peak_of(plan, Category::parameter) < 4 * (kRoot + kBlock));
}

// A block of LLaMA 160M in bf16 over 8 ranks on 108 multiprocessors of 2048 threads: 1154 thread
// blocks a row, 3456 at a time, so two rows and two rounds each; 578 remain.
TEST_CASE("fsdp2: since 2.8 the model's own unit is freed where the script says so", "[fsdp2]") {
  const auto gathered_in_backward = [](const char* torch, Reshard reshard) {
    TrainingPlan plan = sharded();
    plan.versions.torch = torch;
    plan.parallel.fsdp.reshard = reshard;
    return flat_blocks(plan, "backward").size();
  };
  const auto reshard = GENERATE(Reshard::all, Reshard::but_last);
  CHECK(gathered_in_backward("2.7", reshard) <= gathered_in_backward("2.7", Reshard::always));
  CHECK(gathered_in_backward("2.8", reshard) == gathered_in_backward("2.7", reshard) + 2);
  CHECK(gathered_in_backward("2.8", Reshard::always) ==
        gathered_in_backward("2.7", Reshard::always));
}

TEST_CASE("fsdp2: tables of the copy out of a gathered block", "[workloads][fsdp2]") {
  const Bytes64 parts{147456, 147456, 147456, 147456, 589824, 589824, 589824, 192, 192};
  CHECK(split_copy_tables(default_gpu(), 8, parts) == (3 * 9 + 578 + 10) * 8);
  const Bytes64 root{6144000, 192, 6144000};
  CHECK(split_copy_tables(default_gpu(), 8, root) == (3 * 3 + 750 + 1 + 750 + 4) * 8);
}

// Four chunks of 294,912 bytes take 144 thread blocks each, three of 1,179,648 take 576, two of 384
// one.
TEST_CASE("fsdp2: tables of the copy into the block that is reduced", "[workloads][fsdp2]") {
  const Bytes64 chunks{294912, 294912, 294912, 294912, 1179648, 1179648, 1179648, 384, 384};
  CHECK(chunk_cat_tables(chunks) == (4 * 9 + 4 * 144 + 3 * 576 + 2 + 2 * 10) * 8);
}

TEST_CASE("fsdp2: flat blocks of a step, in order", "[workloads][fsdp2]") {
  TrainingPlan plan = sharded();
  const std::int64_t shard = kBlock / 8 * 2;
  const std::int64_t whole = kBlock * 2;
  CHECK(flat_blocks(plan, "forward") ==
        Bytes64{kRoot / 8 * 2, kRoot * 2, shard, whole, shard, whole});
  CHECK(flat_blocks(plan, "backward") ==
        Bytes64{shard, whole, shard, whole, kBlock * 4, kBlock * 4, kRoot * 4});
  plan.parallel.fsdp.reshard = Reshard::but_last;
  CHECK(flat_blocks(plan, "backward") == Bytes64{shard, whole, kBlock * 4, kBlock * 4, kRoot * 4});
  plan.parallel.fsdp.reshard = Reshard::never;
  CHECK(flat_blocks(plan, "backward") == Bytes64{kBlock * 4, kBlock * 4, kRoot * 4});
}

// The tail is reduced before block 1 runs backward; the embedding's input needs no gradient, so it
// is reduced at the end.
TEST_CASE("fsdp2: units at the ends of the model", "[workloads][fsdp2]") {
  TrainingPlan plan = sharded();
  plan.parallel.fsdp.units = FsdpUnits::ends;
  const std::int64_t table = 512 * 128;
  const std::int64_t tail = table + 128;
  const std::int64_t shard = kBlock / 8 * 2;
  const std::int64_t whole = kBlock * 2;
  CHECK(flat_blocks(plan, "forward") ==
        Bytes64{table / 8 * 2, table * 2, shard, whole, shard, whole, tail / 8 * 2, tail * 2});
  CHECK(flat_blocks(plan, "backward") == Bytes64{shard, whole, tail * 4, shard, whole, kBlock * 4,
                                                 table / 8 * 2, table * 2, kBlock * 4, table * 4});
}

TEST_CASE("fsdp2: in 2.12 the input of a reduction outlives the next one", "[workloads][fsdp2]") {
  const auto peak = [](const char* torch) {
    TrainingPlan plan = sharded();
    plan.versions.torch = torch;
    return peak_of(plan, Category::communication);
  };
  CHECK(peak("2.12") > peak("2.11"));
  CHECK(peak("2.13") == peak("2.11"));
}

TEST_CASE("fsdp2: a tied embedding is in the unit of the head", "[workloads][fsdp2]") {
  TrainingPlan plan = sharded();
  plan.model = small_gpt2();
  plan.parallel.fsdp.units = FsdpUnits::ends;
  const std::int64_t tail = 512 * 128 + 2 * 128;
  const auto forward = flat_blocks(plan, "forward");
  CHECK(std::ranges::count(forward, tail * 2) == 1);
  CHECK(std::ranges::count(forward, 256 * 128 * 2) == 1);  // positions are the model's own
}

TEST_CASE("fsdp2: without mixed precision shards are gathered as they are", "[workloads][fsdp2]") {
  TrainingPlan plan = sharded();
  plan.parallel.fsdp = {};
  CHECK(flat_blocks(plan, "forward") == Bytes64{kRoot * 4, kBlock * 4, kBlock * 4});
}

TEST_CASE("fsdp2: one block at a time is whole, unless it is not resharded", "[workloads][fsdp2]") {
  TrainingPlan plan = sharded();
  CHECK(peak_of(plan, Category::weight_copy) == (kRoot + kBlock) * 2);
  plan.parallel.fsdp.reshard = Reshard::but_last;  // the last one goes before the first comes back
  CHECK(peak_of(plan, Category::weight_copy) == (kRoot + kBlock) * 2);
  plan.parallel.fsdp.reshard = Reshard::never;
  CHECK(peak_of(plan, Category::weight_copy) == kAll * 2);
}

TEST_CASE("fsdp2: flat blocks do not come from the pool of the default stream",
          "[workloads][fsdp2]") {
  const RequestTrace trace = generate(sharded());
  std::set<std::size_t> streams;
  for (const Event& event : trace.events) {
    if (event.kind == EventKind::alloc && event.category == Category::communication) {
      streams.insert(event.stream.index());
    }
    if (event.kind == EventKind::alloc && event.category == Category::weight_copy) {
      CHECK(event.stream.index() == 0);
    }
  }
  CHECK(streams.size() == 2);  // of copies in, and the default one: inputs of the reduction
}

TEST_CASE("fsdp2: states are those of the shard", "[workloads][fsdp2]") {
  TrainingPlan plan = sharded();
  plan.zero_grad_at = ZeroGradAt::start;  // the last gradients stay
  const auto blocks = blocks_of(plan);
  CHECK(bytes_of(blocks, Category::parameter) == kAll / 8 * 4);
  CHECK(bytes_of(blocks, Category::gradient) == kAll / 8 * 4);
  CHECK(bytes_of(blocks, Category::optimizer_state) == 2 * kAll / 8 * 4);
}

// 512 rows over 7 ranks are 74 on six of them and 68 on the last.
TEST_CASE("fsdp2: shards of all ranks make up the whole", "[workloads][fsdp2]") {
  std::int64_t states = 0;
  std::int64_t parameters = 0;
  for (int rank = 0; rank < 7; ++rank) {
    TrainingPlan plan = sharded(7);
    plan.parallel.rank = rank;
    const auto blocks = blocks_of(plan);
    states += bytes_of(blocks, Category::optimizer_state);
    parameters += bytes_of(blocks, Category::parameter);
  }
  CHECK(states == 2 * kAll * 4);
  // Rows: 512 become 518, 256 become 259, 128 become 133, 64 become 70.
  const std::int64_t block = (2 * 133 + 2 * 70 + 2 * 259) * 128 + 133 * 256 + 2 * 133;
  CHECK(parameters == (2 * block + 2 * 518 * 128 + 133) * 4);
}

TEST_CASE("fsdp2: a rank behind the last row has padding only", "[workloads][fsdp2]") {
  eager::Runtime runtime(default_gpu(), {2, 6}, {5, 12});
  const eager::Tensor whole = eager::empty(runtime, {5, 3}, DType::fp32);
  const dist::FsdpParam first(whole, {.ranks = 4, .rank = 0}, {});
  const dist::FsdpParam third(whole, {.ranks = 4, .rank = 2}, {});
  const dist::FsdpParam last(whole, {.ranks = 4, .rank = 3}, {});
  CHECK(first.sharded().sizes() == eager::Dims{2, 3});
  CHECK(third.sharded().sizes() == eager::Dims{1, 3});
  CHECK(last.sharded().sizes() == eager::Dims{0, 3});
  CHECK(last.padded_numel() == 6);
}

TEST_CASE("fsdp2: replicas hold the same shards and sum their gradients", "[workloads][fsdp2]") {
  TrainingPlan plan = sharded();
  plan.parallel.fsdp.replicas = 2;
  plan.zero_grad_at = ZeroGradAt::start;
  const auto blocks = blocks_of(plan);
  CHECK(bytes_of(blocks, Category::parameter) == kAll / 4 * 4);
  CHECK(bytes_of(blocks, Category::gradient) == kAll / 4 * 4);
  // Reduced in bf16, the sum is widened on the stream of the all-reduce.
  plan.parallel.fsdp.reduce_dtype = DType::bf16;
  CHECK(streams_of(plan, kBlock / 4 * 4, Category::gradient).size() == 1);
  CHECK(streams_of(plan, kBlock / 4 * 4, Category::gradient) !=
        streams_of(plan, kBlock / 4 * 2, Category::communication));
}

TEST_CASE("fsdp2: without a reduction gradients stay whole, in the type of the reduction",
          "[workloads][fsdp2]") {
  TrainingPlan plan = sharded();
  plan.grad_accum = 2;
  const std::int64_t reduced_twice = peak_of(plan, Category::gradient);
  plan.parallel.no_sync = true;
  CHECK(peak_of(plan, Category::gradient) >= kAll * 4);
  CHECK(reduced_twice < kAll * 4);
  CHECK(flat_blocks(plan, "backward").size() == 2 * (2 + 2) + 3);
}

TEST_CASE("fsdp2: evaluation keeps what is not resharded", "[workloads][fsdp2]") {
  TrainingPlan plan = sharded();
  plan.training = false;
  plan.optimizer.kind = OptimizerKind::none;
  CHECK(count(plan, Category::weight_copy, "forward") == 2 * 9);  // two blocks; the root is there
  plan.parallel.fsdp.reshard = Reshard::never;
  CHECK(count(plan, Category::weight_copy, "forward") == 0);
}

TEST_CASE("fsdp2: frozen parameters are gathered, and their gradients are not reduced",
          "[workloads][fsdp2]") {
  TrainingPlan plan = sharded();
  plan.lora.rank = 8;
  plan.lora.targets = {"q_proj"};
  const std::int64_t adapters = 8 * 128 + 128 * 8;
  const auto backward = flat_blocks(plan, "backward");
  CHECK(std::ranges::count(backward, adapters * 4) == 2);
  CHECK(std::ranges::count(backward, (kBlock + adapters) * 2) == 2);
}

TEST_CASE("fsdp2: one rank is one GPU", "[workloads][fsdp2]") {
  TrainingPlan plan = sharded(1);
  plan.parallel.fsdp = {};
  TrainingPlan alone = plan;
  alone.parallel = {};
  CHECK(words_of(generate(plan)) == words_of(generate(alone)));
}

TEST_CASE("fsdp2: rules", "[workloads][fsdp2]") {
  TrainingPlan plan = sharded();
  CHECK(plan_problems(plan).empty());
  CHECK(generator_gaps(plan).empty());
  plan.parallel.fsdp.replicas = 3;
  CHECK(mentions(plan_problems(plan), "dp-replicate 3"));
  plan.parallel.fsdp.replicas = 1;
  plan.optimizer = {.kind = OptimizerKind::sgd, .impl = OptimizerImpl::fused};
  CHECK(mentions(plan_problems(plan), "optimizer-impl fused"));
  plan.optimizer = {};
  plan.lora.rank = 4;
  plan.precision = Precision::bf16;
  CHECK(mentions(plan_problems(plan), "lora"));
  plan = sharded();
  plan.parallel.dp_kind = DataParallel::ddp;
  CHECK(mentions(plan_problems(plan), "only FSDP has this"));
}

TEST_CASE("fsdp2: any combination comes to a steady state", "[workloads][fsdp2][property]") {
  std::mt19937 random(20241223);
  const auto chance = [&] { return random() % 2 == 0; };
  for (int i = 0; i < 60; ++i) {
    TrainingPlan plan = sharded(2 + static_cast<int>(random() % 7));
    plan.steps = 4;
    plan.model = chance() ? small_gpt2() : small_llama();
    plan.init = chance() ? ModelInit::meta : ModelInit::device;
    plan.parallel.rank = static_cast<int>(random()) % plan.parallel.dp;
    plan.parallel.rank = std::abs(plan.parallel.rank);
    plan.parallel.fsdp.reshard =
        std::array{Reshard::always, Reshard::never, Reshard::but_last}[random() % 3];
    plan.parallel.fsdp.param_dtype = chance() ? std::optional{DType::bf16} : std::optional<DType>{};
    plan.parallel.fsdp.reduce_dtype = std::array{std::optional<DType>{}, std::optional{DType::fp32},
                                                 std::optional{DType::bf16}}[random() % 3];
    plan.parallel.fsdp.replicas = plan.parallel.dp % 2 == 0 && chance() ? 2 : 1;
    plan.parallel.no_sync = chance();
    plan.checkpoint.kind = chance() ? CheckpointKind::none : CheckpointKind::full;
    plan.checkpoint.reentrant = plan.checkpoint.kind == CheckpointKind::full && chance();
    plan.grad_accum = 1 + static_cast<int>(random() % 3);
    plan.lora.rank = chance() ? 0 : 4;
    plan.grad_clip = chance() ? std::optional{1.0} : std::nullopt;
    CAPTURE(i);
    REQUIRE(plan_problems(plan).empty());
    REQUIRE(generator_gaps(plan).empty());
    const RequestTrace trace = generate(plan);
    CHECK(requests_of(trace, 2) == requests_of(trace, 3));
  }
}
