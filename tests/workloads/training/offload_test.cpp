// What is kept in host memory: the pinned allocator's rounding by hand, and both FSDPs' shards.
//
// The small LLaMA has blocks of 147,712 parameters (projections 128x128, 64x128 twice, 128x128,
// 256x128 twice, 128x256; two norms of 128) and 131,200 outside of them (two tables of 512x128, a
// norm).
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/recorded_releases.hpp"
#include "tests/support/trace_blocks.hpp"
#include "workloads/deepspeed/nvme.hpp"
#include "workloads/eager/host_memory.hpp"
#include "workloads/plan/rules/plan_problems.hpp"
#include "workloads/plan/training_plan.hpp"

using namespace highwater;
using namespace highwater::distributed_runs;

namespace {

TrainingPlan offloaded(DataParallel kind, int ranks) {
  TrainingPlan plan;
  plan.versions = test::kRecordedReleases;
  plan.model = small_llama();
  plan.batch = 2;
  plan.seq = {64};
  plan.parallel.dp = ranks;
  plan.parallel.dp_kind = kind;
  plan.parallel.offload = Offload::params;
  return plan;
}

HostBuffers buffers_of(const TrainingPlan& plan, const std::string& what) {
  for (const HostBuffers& each : generate_run(plan).host.training.buffers) {
    if (each.what == what) {
      return each;
    }
  }
  return {};
}

bool has_problem(const TrainingPlan& plan, const std::string& text) {
  return std::ranges::any_of(plan_problems(plan), [&](const std::string& problem) {
    return problem.find(text) != std::string::npos;
  });
}

/// ZeRO-3 prefetches by what the steps before have shown.
void check_steady(TrainingPlan plan) {
  plan.steps = 5;
  const RequestTrace trace = generate(plan);
  CHECK(requests_of(trace, 3) == requests_of(trace, 4));
}

}  // namespace

TEST_CASE("host memory: pinned requests take the next power of two", "[workloads][offload]") {
  CHECK(pinned_size(0) == 0);
  CHECK(pinned_size(1) == 1);
  CHECK(pinned_size(4096) == 4096);
  CHECK(pinned_size(4097) == 8192);
  HostMemory host;
  host.allocate(100, HostKind::pinned, "a");    // 128
  host.allocate(100, HostKind::pageable, "b");  // as asked for
  const HostAccount account = host.account();
  CHECK(account.requested() == 200);
  CHECK(account.pinned() == 128);
  CHECK(account.pageable() == 100);
  CHECK(account.taken() == 228);
}

TEST_CASE("host memory: a freed pinned block serves requests of its size only",
          "[workloads][offload]") {
  HostMemory host;
  const HostBlock first = host.allocate(100, HostKind::pinned, "a");  // 128
  host.free(first);
  host.allocate(65, HostKind::pinned, "a");  // rounds to 128, too
  host.allocate(64, HostKind::pinned, "a");  // to 64
  CHECK(host.pinned_blocks() == std::vector<std::int64_t>{128, 64});
  const HostBlock large = host.allocate(1000, HostKind::pinned, "b");  // 1024
  host.free(large);
  const HostBlock page = host.allocate(5000, HostKind::pageable, "c");
  host.free(page);
  const HostAccount account = host.account();  // before the last free: 1024 wait for a user
  CHECK(account.cached == 1024);
  CHECK(account.taken() == 128 + 64 + 1024 + 5000);
}

// 7 ranks, rows rounded up, 4 bytes: 128x128 has 19 rows, 9,728 bytes, 16,384 pinned; 64x128 10,
// 5,120 and 8,192; 256x128 37, 18,944 and 32,768; 128x256 19, 19,456 and 32,768; a norm 76 and 128;
// a table 74, 37,888 and 65,536.
TEST_CASE("offload: FSDP2 pins each parameter's shard and gradient", "[workloads][offload]") {
  constexpr std::int64_t kBlock = 2 * 9728 + 2 * 5120 + 2 * 18944 + 19456 + 2 * 76;
  constexpr std::int64_t kBlockPinned = 2 * 16384 + 2 * 8192 + 3 * 32768 + 2 * 128;
  constexpr std::int64_t kAll = 2 * kBlock + 2 * 37888 + 76;
  constexpr std::int64_t kAllPinned = 2 * kBlockPinned + 2 * 65536 + 128;
  const TrainingPlan plan = offloaded(DataParallel::fsdp2, 7);
  CHECK(buffers_of(plan, "parameter") == HostBuffers{"parameter", true, kAll, kAllPinned, 21});
  CHECK(buffers_of(plan, "gradient") == HostBuffers{"gradient", true, kAll, kAllPinned, 21});
  CHECK(buffers_of(plan, "optimizer_state") ==
        HostBuffers{"optimizer_state", false, 2 * kAll, 2 * kAll, 42});
  check_steady(plan);
}

// Flat parameters of 147,712 and 131,200 elements on 8 ranks: 73,856 and 65,600 bytes, each
// 131,072 if pinned.
TEST_CASE("offload: FSDP1 pins each flat parameter's shard and gradient", "[workloads][offload]") {
  constexpr std::int64_t kAll = 2 * 73856 + 65600;
  const TrainingPlan plan = offloaded(DataParallel::fsdp1, 8);
  CHECK(buffers_of(plan, "gradient") ==
        HostBuffers{"gradient", true, kAll, std::int64_t{3} * 131072, 3});
  const auto pinned = generate_run(plan).pinned_blocks;
  CHECK(pinned == std::vector<std::int64_t>(6, 131072));
  check_steady(plan);
}

TEST_CASE("offload: nothing of FSDP's states stays on the GPU", "[workloads][offload]") {
  for (const auto kind : {DataParallel::fsdp1, DataParallel::fsdp2}) {
    const auto blocks = blocks_of(offloaded(kind, 8));
    CHECK(bytes_of(blocks, Category::optimizer_state) == 0);
    CHECK(bytes_of(blocks, Category::parameter) == 0);
    CHECK(bytes_of(blocks, Category::gradient) == 0);
  }
}

TEST_CASE("offload: saved tensors wait on the host", "[workloads][offload]") {
  TrainingPlan plan;
  plan.versions = test::kRecordedReleases;
  plan.model = small_gpt2();
  plan.batch = 2;
  plan.seq = {64};
  const auto plain = blocks_of(plan);
  plan.parallel.offload = Offload::activations;
  const auto saved = blocks_of(plan);
  const auto in_forward = [](const std::vector<TraceBlock>& blocks) {
    return std::ranges::count_if(blocks, [](const TraceBlock& block) {
      return block.category == Category::activation && block.phase == "forward";
    });
  };
  CHECK(in_forward(saved) <= 3);  // the model's outputs
  CHECK(in_forward(plain) > 10 * in_forward(saved));
  CHECK(buffers_of(plan, "activation").is_pinned);
  check_steady(plan);
  plan.checkpoint.kind = CheckpointKind::full;
  for (const bool reentrant : {false, true}) {
    plan.checkpoint.reentrant = reentrant;
    check_steady(plan);
  }
}

TEST_CASE("offload: DeepSpeed's host buffers are in the account", "[workloads][offload]") {
  TrainingPlan plan = offloaded(DataParallel::zero2, 8);
  plan.versions.deepspeed = "0.16";
  plan.parallel.offload = Offload::optimizer;
  plan.precision = Precision::bf16;
  constexpr std::int64_t kPart = (2 * 147712 + 131200) / 8 * 4;
  CHECK(buffers_of(plan, "fp32 parameters") ==
        HostBuffers{"fp32 parameters", true, kPart, 262144, 1});
  CHECK(buffers_of(plan, "fp32 gradients") ==
        HostBuffers{"fp32 gradients", false, kPart, kPart, 1});
}

// 426,624 elements in partitions of 53,328: fp32 copies, gradients and both moments on the host;
// the 16-bit gradients of all partitions lie there, too.
TEST_CASE("offload: ZeRO-3's optimizer leaves 16-bit parameters on the GPU",
          "[workloads][offload]") {
  TrainingPlan plan = offloaded(DataParallel::zero3, 8);
  plan.parallel.offload = Offload::optimizer;
  plan.precision = Precision::bf16;
  constexpr std::int64_t kPart = (2 * 147712 + 131200) / 8;
  CHECK(buffers_of(plan, "optimizer_state").requested == 3 * 4 * kPart + 4);  // and the step
  CHECK(buffers_of(plan, "gradient").requested == (4 + 2) * kPart);
  CHECK(bytes_of(blocks_of(plan), Category::optimizer_state) == 0);
  check_steady(plan);
}

// The partitions lie in one pinned buffer, whatever pin_memory says.
TEST_CASE("offload: ZeRO-3's parameters leave the GPU", "[workloads][offload]") {
  TrainingPlan plan = offloaded(DataParallel::zero3, 8);
  plan.precision = Precision::bf16;
  plan.parallel.zero.param_persistence_threshold = 0;
  plan.parallel.zero.pin_memory = GENERATE(false, true);
  plan.parallel.offload = Offload::both;
  constexpr std::int64_t kPart = (2 * 147712 + 131200) / 8;
  CHECK(buffers_of(plan, "parameter") ==
        HostBuffers{"parameter", true, 2 * kPart, pinned_size(2 * kPart), 1});
  CHECK(bytes_of(blocks_of(plan), Category::parameter) == 0);
  CHECK(bytes_of(blocks_of(plan), Category::optimizer_state) == 0);
  check_steady(plan);
  plan.parallel.offload = Offload::params;
  CHECK(bytes_of(blocks_of(plan), Category::parameter) == 0);
  CHECK(bytes_of(blocks_of(plan), Category::optimizer_state) == 3 * 4 * kPart);
  check_steady(plan);
}

TEST_CASE("offload: DeepSpeed pins by default since 0.19", "[workloads][offload]") {
  TrainingPlan plan = offloaded(DataParallel::zero3, 8);
  plan.precision = Precision::bf16;
  plan.parallel.offload = Offload::optimizer;
  plan.versions.deepspeed = "0.16";
  CHECK_FALSE(buffers_of(plan, "gradient").is_pinned);
  plan.versions.deepspeed = "0.19";
  CHECK(buffers_of(plan, "gradient").is_pinned);
}

// 21 parameters, each a sub-group: 10 on one side, 11 on the other. The first ten are the
// embedding's table and a block.
TEST_CASE("offload: a part of ZeRO-3's optimizer stays on the GPU", "[workloads][offload]") {
  TrainingPlan plan = offloaded(DataParallel::zero3, 8);
  plan.precision = Precision::bf16;
  plan.optimizer.impl = OptimizerImpl::deepspeed;
  plan.parallel.offload = Offload::optimizer;
  plan.parallel.zero.sub_group_size = 1;
  plan.parallel.zero.offload_ratio = 0.5;
  plan.versions.deepspeed = "0.19";  // the first ones
  CHECK(bytes_of(blocks_of(plan), Category::optimizer_state) == 12 * (65536 + 147712) / 8);
  check_steady(plan);
  plan.versions.deepspeed = "0.16";  // the last ones
  CHECK(bytes_of(blocks_of(plan), Category::optimizer_state) == 12 * (147712 + 65536 + 128) / 8);
  check_steady(plan);
  plan.optimizer.impl = OptimizerImpl::standard;
  CHECK(has_problem(plan, "CPUAdam"));
}

// Four buffers of a whole sub-group in fp32, aligned to 1024 bytes; five of 1e8 16-bit elements.
TEST_CASE("offload: NVMe takes buffers in host memory", "[workloads][offload]") {
  TrainingPlan plan = offloaded(DataParallel::zero3, 8);
  plan.precision = Precision::bf16;
  plan.parallel.offload = Offload::both;
  plan.parallel.zero.optimizer_device = OffloadDevice::nvme;
  plan.parallel.zero.param_device = OffloadDevice::nvme;
  const std::string states = "buffers of optimizer states on NVMe";
  const std::string parameters = "buffers of parameters on NVMe";
  plan.versions.deepspeed = "0.16";  // PyTorch's pinned memory
  CHECK(buffers_of(plan, states) == HostBuffers{states, true, 4 * 214'016, 4 * 262'144, 4});
  CHECK(buffers_of(plan, parameters) ==
        HostBuffers{parameters, true, 1'000'002'560, std::int64_t{1} << 30, 1});
  plan.versions.deepspeed = "0.19";  // locked pages of 4096 bytes
  CHECK(buffers_of(plan, states) == HostBuffers{states, true, 4 * 214'016, 4 * 217'088, 4});
  CHECK(buffers_of(plan, parameters).taken == 1'000'005'632);
  check_steady(plan);
  plan.parallel.offload = Offload::optimizer;
  CHECK(has_problem(plan, "offload-param-device"));
}

TEST_CASE("offload: what is too small or not aligned stays", "[workloads][offload]") {
  CHECK(deepspeed::is_swappable(1 << 20));
  CHECK_FALSE(deepspeed::is_swappable((1 << 20) - 1));
  CHECK_FALSE(deepspeed::leaves_rest(1 << 18));
  CHECK(deepspeed::leaves_rest((1 << 18) - 256));
  CHECK(deepspeed::leaves_rest((1 << 18) + 1));
  CHECK_FALSE(deepspeed::leaves_rest((1 << 18) + 256));
}

TEST_CASE("offload: each parameter that is read from NVMe takes a buffer", "[workloads][offload]") {
  deepspeed::SwapBuffers buffers(1);
  deepspeed::PartitionedParameter first;
  deepspeed::PartitionedParameter second;
  first.is_on_nvme = first.is_swapped_out = second.is_on_nvme = second.is_swapped_out = true;
  buffers.swap_in(first);
  CHECK(buffers.free() == 0);
  CHECK_THROWS_WITH(buffers.swap_in(second), Catch::Contains("offload-param-buffer-count"));
  buffers.give_back(first);
  buffers.swap_in(second);
  CHECK_FALSE(second.is_swapped_out);
}

TEST_CASE("offload: without it the host's account is empty", "[workloads][offload]") {
  TrainingPlan plan = offloaded(DataParallel::fsdp2, 8);
  plan.parallel.offload = Offload::none;
  const GeneratedRun run = generate_run(plan);
  CHECK(run.host == HostPeaks{});
  CHECK(run.pinned_blocks.empty());
}

TEST_CASE("host memory: an account ends where the next begins", "[workloads][offload]") {
  HostMemory host;
  host.allocate(100, HostKind::pageable, "stays");
  const HostBlock passing = host.allocate(50, HostKind::pageable, "goes");
  host.free(passing);
  CHECK(host.next_account().taken() == 150);
  CHECK(host.account().taken() == 100);
}

TEST_CASE("host memory: a model made on the host is there until it is initialised",
          "[workloads][offload]") {
  TrainingPlan plan = offloaded(DataParallel::ddp, 1);
  plan.parallel.offload = Offload::none;
  plan.init = ModelInit::cpu;
  const HostPeaks host = generate_run(plan).host;
  REQUIRE_FALSE(host.making.buffers.empty());
  CHECK(host.making.buffers[0].what == "parameter");
  CHECK(host.making.buffers[0].taken == 4 * parameter_count(plan.model.config).trainable());
  CHECK(host.making.pinned() == 0);
  CHECK(host.initialising.taken() == host.making.taken());
  CHECK(host.training == HostAccount{});
}

TEST_CASE("offload: what no framework offers is refused", "[workloads][offload]") {
  TrainingPlan plan = offloaded(DataParallel::fsdp2, 8);
  CHECK(plan_problems(plan).empty());
  CHECK(generator_gaps(plan).empty());
  plan.parallel.offload = Offload::optimizer;
  CHECK(has_problem(plan, "offload optimizer with FSDP"));
  plan.parallel.offload = Offload::params;
  plan.parallel.dp_kind = DataParallel::ddp;
  CHECK(generator_gaps(plan).size() == 1);  // closed forms may know it
  plan.parallel.offload = Offload::activations;
  CHECK(plan_problems(plan).empty());
  CHECK(generator_gaps(plan).empty());
  plan.training = false;
  CHECK(has_problem(plan, "nothing is saved for backward"));
}
