// DeepSpeed's ZeRO: partitions by hand, static terms against the ZeRO paper's, and what holds for
// every plan.
#include <algorithm>
#include <array>
#include <numeric>
#include <random>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/recorded_releases.hpp"
#include "tests/support/step_requests.hpp"
#include "workloads/deepspeed/common/flat_partition.hpp"
#include "workloads/deepspeed/host_memory.hpp"
#include "workloads/estimates/forms/zero_paper.hpp"
#include "workloads/plan/model/families/families.hpp"
#include "workloads/plan/rules/plan_problems.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/training/generate.hpp"

using namespace highwater;
using deepspeed::FlatPartition;
using deepspeed::PartitionSlice;
using highwater::distributed_runs::requests_of;

namespace {

// All parameters of this model divide evenly by 2 * 4 ranks.
ModelSpec small_gpt2() {
  Gpt2Config config;
  config.vocab_size = 512;
  config.n_embd = 128;
  config.n_head = 4;
  config.n_layer = 2;
  config.n_positions = 256;
  return {"small-gpt2", "test", config};
}

ModelSpec small_llama() {
  LlamaConfig config;
  config.vocab_size = 512;
  config.hidden_size = 128;
  config.intermediate_size = 256;
  config.num_hidden_layers = 2;
  config.num_attention_heads = 4;
  config.num_key_value_heads = 2;
  return {"small-llama", "test", config};
}

// wte, wpe; per block norms, attention and MLP with biases; the last norm. The head is tied.
constexpr std::int64_t kElements =
    512 * 128 + 256 * 128 +
    2 * (4 * 128 + 128 * 384 + 384 + 128 * 128 + 128 + 2 * 128 * 512 + 512 + 128) + 2 * 128;

TrainingPlan sharded(DataParallel kind, int ranks = 4) {
  TrainingPlan plan;
  plan.versions = test::kRecordedReleases;
  plan.model = small_gpt2();
  plan.batch = 2;
  plan.seq = {64};
  plan.precision = Precision::bf16;
  plan.parallel.dp = ranks;
  plan.parallel.dp_kind = kind;
  plan.parallel.zero.reduce_bucket_size = 50'000;
  plan.parallel.zero.param_persistence_threshold = 0;
  plan.versions.deepspeed = "0.16";
  return plan;
}

// The engine without ZeRO, as in 0.19.8.
TrainingPlan whole(OptimizerImpl impl) {
  TrainingPlan plan = sharded(DataParallel::zero0);
  plan.parallel.zero = {};
  plan.optimizer.impl = impl;
  plan.versions.deepspeed = "0.19";
  return plan;
}

struct Living {
  std::int64_t bytes = 0;
  Category category = Category::unknown;
};

/// Blocks that are alive where `phase` of the last step begins.
std::vector<Living> living_at(const TrainingPlan& plan, std::string_view phase) {
  const RequestTrace trace = generate(plan);
  std::vector<Living> blocks;
  std::vector<Living> found;
  for (const Event& event : trace.events) {
    if (event.kind == EventKind::phase && trace.tables.strings[event.text()] == phase) {
      found = blocks;
    } else if (event.kind == EventKind::alloc) {
      blocks.push_back({static_cast<std::int64_t>(event.value), event.category});
    } else if (event.kind == EventKind::free) {
      blocks[event.allocation.index()].bytes = 0;
    }
  }
  return found;
}

std::int64_t bytes_of(const std::vector<Living>& blocks, Category category) {
  std::int64_t bytes = 0;
  for (const Living& block : blocks) {
    bytes += block.category == category ? block.bytes : 0;
  }
  return bytes;
}

std::int64_t peak_of(const TrainingPlan& plan) {
  std::vector<std::int64_t> bytes;
  std::int64_t now = 0;
  std::int64_t peak = 0;
  for (const Event& event : generate(plan).events) {
    if (event.kind == EventKind::alloc) {
      bytes.push_back(static_cast<std::int64_t>(event.value));
      now += bytes.back();
      peak = std::max(peak, now);
    } else if (event.kind == EventKind::free) {
      now -= bytes[event.allocation.index()];
    }
  }
  return peak;
}

}  // namespace

// 10 + 7 + 4 = 21 elements on 4 ranks: a multiple of 2 * 4 is 24, so 6 each.
TEST_CASE("zero: partitions take no notice of where parameters begin", "[workloads][zero]") {
  const FlatPartition partition(std::array<std::int64_t, 3>{10, 7, 4}, 4);
  CHECK(partition.padded_numel() == 24);
  CHECK(partition.partition_size() == 6);
  CHECK(partition.slices(0) == std::vector<PartitionSlice>{{0, 0, 6}, {1, 6, 4}});
  CHECK(partition.slices(1) == std::vector<PartitionSlice>{{1, 0, 2}, {2, 2, 5}});
  CHECK(partition.slices(2) == std::vector<PartitionSlice>{{2, 0, 1}, {3, 1, 3}});
  CHECK(partition.parameters_of(1) == std::vector<std::size_t>{0, 1});
  CHECK(partition.parameters_of(3) == std::vector<std::size_t>{2});
}

TEST_CASE("zero: a parameter that fills partitions exactly touches no other", "[workloads][zero]") {
  const FlatPartition partition(std::array<std::int64_t, 2>{8, 8}, 4);
  CHECK(partition.slices(0) == std::vector<PartitionSlice>{{0, 0, 4}, {1, 0 + 4, 4}});
  CHECK(partition.parameters_of(2) == std::vector<std::size_t>{1});
}

TEST_CASE("zero: the ranks' parts sum to the parameters", "[workloads][zero][property]") {
  std::mt19937 random(7);
  for (int i = 0; i < 200; ++i) {
    std::vector<std::int64_t> numels(1 + random() % 12);
    for (auto& numel : numels) {
      numel = 1 + static_cast<std::int64_t>(random() % 500);
    }
    const int ranks = 1 + static_cast<int>(random() % 16);
    const FlatPartition partition(numels, ranks);
    const auto all = std::accumulate(numels.begin(), numels.end(), std::int64_t{0});
    CHECK(partition.padded_numel() % (2 * ranks) == 0);
    CHECK(partition.padded_numel() - all < 2 * ranks);
    for (std::size_t index = 0; index < numels.size(); ++index) {
      std::int64_t covered = 0;
      for (const PartitionSlice& slice : partition.slices(index)) {
        CHECK(slice.offset == covered);
        covered += slice.numel;
      }
      CHECK(covered == numels[index]);
    }
  }
}

TEST_CASE("zero: round robin takes every ranks-th parameter", "[workloads][zero]") {
  CHECK(deepspeed::round_robin_order(5, 2) == std::vector<std::size_t>{0, 2, 4, 1, 3});
  CHECK(deepspeed::round_robin_order(2, 4) == std::vector<std::size_t>{0, 1});
}

// 2 P of weights and 12 P / N of fp32 copies and moments: nothing is padded in this model, and the
// optimizer's step counter is on the host.
TEST_CASE("zero: weights and optimizer states are the paper's", "[workloads][zero]") {
  const auto stage = GENERATE(DataParallel::zero1, DataParallel::zero2, DataParallel::zero3);
  const auto blocks = living_at(sharded(stage), "data");
  const bool is_stage_3 = stage == DataParallel::zero3;
  CHECK(bytes_of(blocks, Category::optimizer_state) == 12 * kElements / 4);
  CHECK(bytes_of(blocks, Category::parameter) == 2 * kElements / (is_stage_3 ? 4 : 1));
  const Estimate paper =
      zero_paper(static_cast<double>(kElements), 4, is_stage_3 ? ZeroStage::three : ZeroStage::two);
  const double gradients = 2.0 * static_cast<double>(kElements) / 4;
  CHECK(static_cast<double>(bytes_of(blocks, Category::optimizer_state) +
                            bytes_of(blocks, Category::parameter)) == paper.bytes() - gradients);
}

// PEFT makes adapters in fp32; the engine gives them the model's type. Rank 8 beside q_proj (128 x
// 128) and v_proj (64 x 128) of two blocks: 7,168 elements.
TEST_CASE("zero: adapters have the model's type", "[workloads][zero]") {
  TrainingPlan plan = sharded(DataParallel::zero2);
  plan.versions.deepspeed = GENERATE("0.16", "0.19");
  plan.model = small_llama();
  const std::int64_t whole_model = bytes_of(living_at(plan, "data"), Category::parameter);
  plan.lora.rank = 8;
  const auto blocks = living_at(plan, "data");
  CHECK(bytes_of(blocks, Category::parameter) == whole_model + 2 * 7'168);
  CHECK(bytes_of(blocks, Category::optimizer_state) == 12 * 7'168 / 4);
}

// Without ZeRO every rank keeps 2 P of weights and 12 P of fp32 copies and moments, and FusedAdam's
// flag of 4 bytes.
TEST_CASE("zero: stage 0 keeps all states on every rank", "[workloads][zero]") {
  TrainingPlan plan = whole(OptimizerImpl::standard);
  CHECK(bytes_of(living_at(plan, "data"), Category::parameter) == 2 * kElements);
  CHECK(bytes_of(living_at(plan, "data"), Category::optimizer_state) == 12 * kElements);
  plan.optimizer.impl = OptimizerImpl::deepspeed;
  CHECK(bytes_of(living_at(plan, "data"), Category::optimizer_state) == 12 * kElements + 4);
  plan.precision = Precision::fp32;
  CHECK(bytes_of(living_at(plan, "data"), Category::parameter) == 4 * kElements);
  CHECK(bytes_of(living_at(plan, "data"), Category::optimizer_state) == 8 * kElements + 4);
}

// BF16_Optimizer: fp32 gradients of the whole model stay, and so do the last backward's in bf16;
// the states are those of a part.
TEST_CASE("zero: stage 0 in bf16 keeps gradients in fp32 before 0.19", "[workloads][zero]") {
  TrainingPlan plan = whole(OptimizerImpl::standard);
  plan.versions.deepspeed = "0.16";
  const auto blocks = living_at(plan, "data");
  CHECK(bytes_of(blocks, Category::parameter) == 2 * kElements);
  CHECK(bytes_of(blocks, Category::gradient) == (4 + 2) * kElements);
  CHECK(bytes_of(blocks, Category::optimizer_state) == 12 * kElements / 4);
}

// The paper's 2 P / N: stage 3 keeps exactly that; stage 2 keeps whole parameters that the
// partition touches. Rank 0 of 4 updates the first 123,776 elements: wte (65,536), wpe (32,768),
// block 0's ln_1 (256) and half of its c_attn.weight (49,152).
TEST_CASE("zero: gradients are whole parameters in stage 2", "[workloads][zero]") {
  REQUIRE(kElements / 4 == 123'776);
  const auto of_stage_2 = living_at(sharded(DataParallel::zero2), "optimizer");
  CHECK(bytes_of(of_stage_2, Category::gradient) == 2 * (65'536 + 32'768 + 256 + 49'152));
  const auto of_stage_3 = living_at(sharded(DataParallel::zero3), "optimizer");
  CHECK(bytes_of(of_stage_3, Category::gradient) == 2 * kElements / 4);
}

// DeepSpeed 0.19.8, stage3.py _create_fp32_partitions: `device == self.device` compares with a
// name.
TEST_CASE("zero: stage 3 in fp32 has copies of its partitions, too", "[workloads][zero]") {
  TrainingPlan plan = sharded(DataParallel::zero3);
  plan.precision = Precision::fp32;
  CHECK(bytes_of(living_at(plan, "data"), Category::parameter) == 4 * kElements / 4);
  CHECK(bytes_of(living_at(plan, "data"), Category::optimizer_state) == 12 * kElements / 4);
}

TEST_CASE("zero: overlapping costs a second bucket in stages 1 and 2", "[workloads][zero]") {
  TrainingPlan plan = sharded(DataParallel::zero2);
  plan.parallel.zero.reduce_bucket_size = 10'000'000;  // more than all activations
  const std::int64_t without = peak_of(plan);
  plan.parallel.zero.overlap_comm = true;
  CHECK(peak_of(plan) - without == 2 * 10'000'000);
}

// DeepSpeed 0.19.8, runtime/zero/stage_1_and_2.py, DeepSpeedZeroOptimizer.__init__: the flat buffer
// of a group is made beside its parameters only where the device has that much free; else the
// parameters go to the host first, and each leaves one element of fp32 behind.
TEST_CASE("zero: a group is flattened on the device where it has room, else on the host",
          "[workloads][zero]") {
  const DataParallel kind = GENERATE(DataParallel::zero1, DataParallel::zero2);
  TrainingPlan plan = sharded(kind);
  plan.versions.deepspeed = "0.19";
  plan.parallel.offload = Offload::optimizer;
  const auto most_live = [&](Bytes room) {
    plan.device_room = room;
    std::vector<std::int64_t> sizes;
    std::int64_t live = 0;
    std::int64_t most = 0;
    for (const Event& event : generate(plan).events) {
      if (event.kind == EventKind::alloc) {
        sizes.push_back(static_cast<std::int64_t>(event.value));
        live += sizes.back();
      } else if (event.kind == EventKind::free) {
        live -= sizes[event.allocation.value()];
      } else if (event.kind == EventKind::step) {
        break;
      }
      most = std::max(most, live);
    }
    return most;
  };
  constexpr std::int64_t kFlat = 2 * kElements;  // in 16 bits
  using namespace literals;
  // All parameters are at most 1 MiB, in segments of 2 MiB: the model has one, its buffer one.
  CHECK(most_live(2_MiB + Bytes{kFlat}) >= 2 * kFlat);
  const std::int64_t on_host = most_live(2_MiB + Bytes{kFlat - 1});
  CHECK(on_host >= kFlat);
  CHECK(on_host < kFlat + kFlat / 2);
}

TEST_CASE("zero: offloading leaves no optimizer state on the device", "[workloads][zero]") {
  TrainingPlan plan = sharded(DataParallel::zero2);
  plan.parallel.offload = Offload::optimizer;
  const auto blocks = living_at(plan, "data");
  CHECK(bytes_of(blocks, Category::optimizer_state) == 0);
  CHECK(bytes_of(blocks, Category::parameter) == 2 * kElements);
}

// 24 elements padded on 4 ranks, 6 each: 24 bytes of fp32, which is 32 if pinned.
TEST_CASE("zero: pinned buffers take the next power of two", "[workloads][zero]") {
  const std::vector<std::vector<std::int64_t>> numels{{10, 7, 4}};
  const auto buffers = deepspeed::offloaded_optimizer(
      numels, {.ranks = 4, .rank = 1, .pin_memory = true, .grad_accum = 2});
  REQUIRE(buffers.size() == 7);
  CHECK(buffers[0] == deepspeed::HostBuffer{"fp32 parameters", 24, true});
  CHECK(buffers[0].taken() == 32);
  CHECK(buffers[2].taken() == 24);
  CHECK(buffers[4].bytes == 20);
  CHECK(buffers[5].bytes == 14);
  CHECK(buffers[6] == deepspeed::HostBuffer{"largest gradient", 20, true});
  const auto paged = deepspeed::offloaded_optimizer(numels, {.ranks = 4});
  CHECK(paged.size() == 5);
  CHECK(paged[1].taken() == 24);
}

// Two of the model's elements on each rank, until there are none left.
TEST_CASE("zero: a rank without an element trains along", "[workloads][zero]") {
  const char* const release = GENERATE("0.16", "0.19");
  TrainingPlan plan = sharded(DataParallel::zero2, 250'000);
  plan.versions.deepspeed = release;
  plan.parallel.rank = plan.parallel.dp - 1;
  CHECK(generate(plan).allocation_count > 0);
}

TEST_CASE("zero: with one rank the options change nothing", "[workloads][zero]") {
  TrainingPlan plan = sharded(DataParallel::zero2, 1);
  plan.parallel.zero = {};
  TrainingPlan plain = plan;
  plain.parallel.dp_kind = DataParallel::ddp;
  CHECK(requests_of(generate(plan), 0) == requests_of(generate(plain), 0));
}

TEST_CASE("zero: any combination comes to a steady state", "[workloads][zero][property]") {
  std::mt19937 random(20240608);
  const auto chance = [&] { return random() % 2 == 0; };
  for (int i = 0; i < 60; ++i) {
    const auto kind =
        std::array{DataParallel::zero1, DataParallel::zero2, DataParallel::zero3}[random() % 3];
    TrainingPlan plan = sharded(kind, 2 + static_cast<int>(random() % 7));
    plan.steps = 5;
    plan.model = chance() ? small_gpt2() : small_llama();
    plan.precision = std::array{Precision::fp32, Precision::bf16, Precision::fp16}[random() % 3];
    plan.checkpoint.kind = chance() ? CheckpointKind::none : CheckpointKind::full;
    plan.grad_accum = 1 + static_cast<int>(random() % 3);
    plan.optimizer.impl = chance() ? OptimizerImpl::foreach : OptimizerImpl::fused;
    plan.optimizer.param_groups = chance() ? 1 : 2;
    if (chance()) {
      plan.grad_clip = 1.0;
    }
    Zero& zero = plan.parallel.zero;
    zero.overlap_comm = chance();
    zero.contiguous_gradients = chance();
    zero.reduce_scatter = chance();
    zero.round_robin_gradients = chance();
    zero.param_persistence_threshold = chance() ? 0 : 500;
    zero.max_live_parameters = chance() ? 100'000 : 1'000'000'000;
    zero.max_reuse_distance = chance() ? 50'000 : 1'000'000'000;
    zero.prefetch_bucket_size = chance() ? 20'000 : 50'000'000;
    zero.sub_group_size = chance() ? 60'000 : 1'000'000'000;
    if (kind == DataParallel::zero3) {
      plan.parallel.offload = std::array{Offload::none, Offload::optimizer, Offload::params,
                                         Offload::both}[random() % 4];
    }
    CAPTURE(i, static_cast<int>(kind), plan.model.name);
    REQUIRE(plan_problems(plan).empty());
    REQUIRE(generator_gaps(plan).empty());
    const RequestTrace trace = generate(plan);
    CHECK(requests_of(trace, 3) == requests_of(trace, 4));
  }
}

TEST_CASE("zero: what makes no sense or is not modelled is refused", "[workloads][zero]") {
  TrainingPlan autocast = sharded(DataParallel::zero2);
  autocast.precision = Precision::amp_bf16;
  CHECK(generator_gaps(autocast).size() == 1);
  TrainingPlan adafactor = sharded(DataParallel::zero1);
  adafactor.optimizer.kind = OptimizerKind::adafactor;
  CHECK(generator_gaps(adafactor).size() == 1);
  TrainingPlan offloaded = sharded(DataParallel::zero2);  // only stage 3 offloads parameters
  offloaded.parallel.offload = Offload::params;
  CHECK(generator_gaps(offloaded).size() == 1);
  TrainingPlan empty_bucket = sharded(DataParallel::zero2);
  empty_bucket.parallel.zero.reduce_bucket_size = 0;
  CHECK(plan_problems(empty_bucket).size() == 1);
  TrainingPlan replicated = sharded(DataParallel::ddp);
  CHECK(plan_problems(replicated).size() == 1);  // it has DeepSpeed's options
  replicated.parallel.zero = {};
  CHECK(plan_problems(replicated).empty());
}

// Parts of two ranks: half of the elements, in 2 bytes each. A step drops them.
TEST_CASE("zero3: a second copy of the parameters lives from their release to the step",
          "[workloads][zero]") {
  const auto parameters_at = [](int ranks, std::string_view phase) {
    TrainingPlan plan = sharded(DataParallel::zero3);
    plan.parallel.zero.hpz_partition_size = ranks;
    plan.versions.deepspeed = "0.19";  // which releases embeddings before the step, too
    return bytes_of(living_at(plan, phase), Category::parameter);
  };
  CHECK(parameters_at(2, "optimizer") - parameters_at(1, "optimizer") == kElements);
  CHECK(parameters_at(4, "optimizer") - parameters_at(1, "optimizer") == kElements / 2);
  CHECK(parameters_at(8, "optimizer") == parameters_at(4, "optimizer"));
  CHECK(parameters_at(2, "forward") == parameters_at(1, "forward"));
}

TEST_CASE("zero3: ranks that share a second copy divide all ranks", "[workloads][zero]") {
  TrainingPlan plan = sharded(DataParallel::zero3, 6);
  plan.parallel.zero.hpz_partition_size = 3;
  CHECK(plan_problems(plan).empty());
  plan.parallel.zero.hpz_partition_size = 4;
  CHECK_THAT(plan_problems(plan).front(), Catch::Matchers::Contains("cannot be grouped evenly"));
  plan.parallel.zero.hpz_partition_size = 3;
  plan.parallel.dp_kind = DataParallel::zero2;
  CHECK_THAT(plan_problems(plan).front(), Catch::Matchers::Contains("only stage 3 has this"));
}
