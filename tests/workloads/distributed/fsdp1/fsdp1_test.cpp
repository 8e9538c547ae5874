// FullyShardedDataParallel (FSDP1): the layout of flat parameters by hand, and what the wrapper
// makes of a trace.
#include <algorithm>
#include <array>
#include <cstdio>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "sim/replay/replay.hpp"
#include "tests/support/recorded_releases.hpp"
#include "tests/support/step_requests.hpp"
#include "workloads/distributed/broadcast_coalesced.hpp"
#include "workloads/distributed/fsdp1/flat_param_handle.hpp"
#include "workloads/plan/model/families/families.hpp"
#include "workloads/plan/rules/plan_problems.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/training/generate.hpp"

using namespace highwater;
using highwater::distributed_runs::requests_of;

namespace {

using dist::Extent;

// One block of 12 * 128^2 + 13 * 128 parameters, which 16 bytes and 8 ranks divide; the rest is the
// root's.
constexpr std::int64_t kBlock = 198272;
constexpr std::int64_t kRoot = 512 * 128 + 256 * 128 + 2 * 128;

TrainingPlan sharded(int ranks = 8) {
  Gpt2Config config;
  config.vocab_size = 512;
  config.n_embd = 128;
  config.n_head = 4;
  config.n_layer = 3;
  config.n_positions = 256;
  TrainingPlan plan;
  plan.versions = test::kRecordedReleases;
  plan.model = {"small-gpt2", "test", config};
  plan.batch = 2;
  plan.seq = {64};
  plan.parallel.dp = ranks;
  plan.parallel.dp_kind = DataParallel::fsdp1;
  return plan;
}

struct Block {
  std::int64_t bytes = 0;
  Category category = Category::unknown;
  StreamId stream;
  std::uint64_t born_in = 0;  ///< step + 1; 0: before the first
  std::string phase;
  bool is_freed = false;
};

std::vector<Block> blocks_of(const TrainingPlan& plan) {
  const RequestTrace trace = generate(plan);
  std::vector<Block> blocks;
  std::uint64_t step = 0;
  std::string phase;
  for (const Event& event : trace.events) {
    if (event.kind == EventKind::step) {
      step = event.value + 1;
    } else if (event.kind == EventKind::phase) {
      phase = trace.tables.strings[event.text()];
    } else if (event.kind == EventKind::alloc) {
      blocks.push_back({static_cast<std::int64_t>(event.value), event.category, event.stream, step,
                        phase, false});
    } else if (event.kind == EventKind::free) {
      blocks[event.allocation.index()].is_freed = true;
    }
  }
  return blocks;
}

std::int64_t static_bytes(const std::vector<Block>& blocks, Category category) {
  std::int64_t bytes = 0;
  for (const Block& block : blocks) {
    bytes += block.category == category && !block.is_freed ? block.bytes : 0;
  }
  return bytes;
}

/// All-gathers of a step: blocks of this size on a stream other than the first.
std::size_t side_blocks(const std::vector<Block>& blocks, std::int64_t bytes, std::uint64_t step,
                        std::string_view phase) {
  return static_cast<std::size_t>(std::ranges::count_if(blocks, [&](const Block& block) {
    return block.bytes == bytes && block.stream != StreamId{0U} && block.born_in == step &&
           block.phase == phase;
  }));
}

}  // namespace

TEST_CASE("fsdp1: a flat parameter is aligned and padded to the ranks", "[workloads][fsdp1]") {
  const std::array<std::int64_t, 3> lengths{3, 8, 5};
  const auto aligned = dist::lay_out(lengths, 4, 6);  // 3 +1, 8, 5 makes 17, +1 is 3 * 6
  CHECK(aligned.parts == std::vector<std::int64_t>{3, 1, 8, 5, 1});
  CHECK(aligned.owned == std::vector<std::size_t>{0, 2, 3});
  CHECK(aligned.parameters == std::vector<Extent>{{0, 3}, {4, 8}, {12, 5}});
  CHECK(aligned.length == 18);
  const auto plain = dist::lay_out(lengths, 0, 6);
  CHECK(plain.parts == std::vector<std::int64_t>{3, 8, 5});
  CHECK(plain.length == 16);
}

TEST_CASE("fsdp1: shards of all ranks are the whole and what they say of padding",
          "[workloads][fsdp1][property]") {
  CHECK(dist::shard_of(16, 5, 6) == dist::FlatShard{.extent = {15, 1}, .padding = 2});
  CHECK(dist::shard_of(5, 3, 4) == dist::FlatShard{.extent = {5, 0}, .padding = 2});
  for (std::int64_t length = 1; length < 60; ++length) {
    for (int ranks = 1; ranks < 12; ++ranks) {
      std::int64_t end = 0;
      std::int64_t padding = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const dist::FlatShard shard = dist::shard_of(length, rank, ranks);
        CHECK(shard.padded_length() == (length + ranks - 1) / ranks);
        CHECK(shard.extent.offset == end);
        end += shard.extent.length;
        padding += shard.padding;
      }
      CHECK(end == length);
      CHECK(end + padding == ranks * ((length + ranks - 1) / ranks));
    }
  }
}

TEST_CASE("fsdp1: a parameter's part in a shard", "[workloads][fsdp1]") {
  CHECK(dist::part_in_shard({4, 8}, 0, 6) == Extent{4, 2});
  CHECK(dist::part_in_shard({4, 8}, 6, 6) == Extent{0, 6});
  CHECK(dist::part_in_shard({4, 8}, 12, 6) == Extent{});
}

TEST_CASE("fsdp1: parameters, gradients and states are one rank's share", "[workloads][fsdp1]") {
  TrainingPlan plan = sharded();
  plan.zero_grad_at = ZeroGradAt::start;
  const std::int64_t share = (3 * kBlock + kRoot) / 8 * 4;
  for (const bool use_orig_params : {true, false}) {
    plan.parallel.fsdp.use_orig_params = use_orig_params;
    const auto blocks = blocks_of(plan);
    CHECK(static_bytes(blocks, Category::parameter) == share);
    CHECK(static_bytes(blocks, Category::gradient) == share);
  }
}

TEST_CASE("fsdp1: each block is gathered once for forward and once for backward, the root once",
          "[workloads][fsdp1]") {
  const auto blocks = blocks_of(sharded());
  CHECK(side_blocks(blocks, kBlock * 4, 2, "forward") == 3);
  CHECK(side_blocks(blocks, kBlock * 4, 2, "backward") == 3 + 3);  // and its gradient
  CHECK(side_blocks(blocks, kRoot * 4, 2, "forward") == 1);
  CHECK(side_blocks(blocks, kRoot * 4, 2, "backward") == 1);
}

TEST_CASE("fsdp1: strategies differ in what they gather again", "[workloads][fsdp1]") {
  TrainingPlan plan = sharded();
  plan.parallel.fsdp.strategy = ShardingStrategy::shard_grad_op;
  auto blocks = blocks_of(plan);
  CHECK(side_blocks(blocks, kBlock * 4, 2, "forward") == 3);
  CHECK(side_blocks(blocks, kBlock * 4, 2, "backward") == 3);  // the gradients
  plan.parallel.fsdp.strategy = ShardingStrategy::no_shard;
  blocks = blocks_of(plan);
  CHECK(side_blocks(blocks, kBlock * 4, 2, "forward") == 0);
  CHECK(static_bytes(blocks, Category::parameter) == (3 * kBlock + kRoot) * 4);
  plan.parallel.fsdp.strategy = ShardingStrategy::hybrid_shard;
  plan.parallel.fsdp.replicas = 2;
  CHECK(static_bytes(blocks_of(plan), Category::parameter) == (3 * kBlock + kRoot) / 4 * 4);
}

TEST_CASE("fsdp1: mixed precision casts the shard, gathers bf16 and reduces in fp32",
          "[workloads][fsdp1]") {
  TrainingPlan plan = sharded();
  plan.parallel.fsdp.param_dtype = DType::bf16;
  plan.parallel.fsdp.reduce_dtype = DType::fp32;
  const auto blocks = blocks_of(plan);
  CHECK(side_blocks(blocks, kBlock / 8 * 2, 2, "forward") == 3);
  CHECK(side_blocks(blocks, kBlock * 2, 2, "forward") == 3);
  CHECK(side_blocks(blocks, kBlock * 4, 2, "backward") == 3);
  CHECK(side_blocks(blocks, kBlock / 8 * 4, 2, "backward") == 3);
}

TEST_CASE("fsdp1: no_sync keeps whole gradients until the last micro-batch", "[workloads][fsdp1]") {
  TrainingPlan plan = sharded();
  plan.grad_accum = 3;
  CHECK(side_blocks(blocks_of(plan), kBlock / 8 * 4, 2, "backward") == 3 * 3);
  plan.parallel.no_sync = true;
  CHECK(side_blocks(blocks_of(plan), kBlock / 8 * 4, 2, "backward") == 3);
}

TEST_CASE("fsdp1: frozen parameters beside adapters get gradients all the same",
          "[workloads][fsdp1]") {
  TrainingPlan plan = sharded();
  plan.lora.rank = 4;
  const std::int64_t with_adapters = kBlock + 4 * (128 + 3 * 128);  // c_attn's two matrices
  const auto blocks = blocks_of(plan);
  CHECK(side_blocks(blocks, with_adapters * 4, 2, "backward") == 3 + 3);
  CHECK(side_blocks(blocks, kRoot * 4, 2, "backward") == 0);  // nothing is trained there
}

TEST_CASE("fsdp1: any combination comes to a steady state", "[workloads][fsdp1][property]") {
  std::mt19937 random(20240608);
  const auto chance = [&] { return random() % 2 == 0; };
  for (int i = 0; i < 60; ++i) {
    TrainingPlan plan = sharded(2 + static_cast<int>(random() % 7));
    plan.steps = 5;
    plan.checkpoint.kind = chance() ? CheckpointKind::none : CheckpointKind::full;
    plan.checkpoint.reentrant = plan.checkpoint.kind == CheckpointKind::full && chance();
    plan.grad_accum = 1 + static_cast<int>(random() % 3);
    plan.set_to_none = chance();
    plan.zero_grad_at = chance() ? ZeroGradAt::end : ZeroGradAt::start;
    plan.optimizer.impl = chance() ? OptimizerImpl::foreach : OptimizerImpl::loop;
    plan.lora.rank = chance() ? 0 : 4;
    plan.grad_clip = chance() ? std::optional<double>{} : 1.0;
    Fsdp& fsdp = plan.parallel.fsdp;
    fsdp.param_dtype = chance() ? std::optional<DType>{} : DType::bf16;
    fsdp.reduce_dtype = chance() ? std::optional<DType>{} : DType::fp32;
    fsdp.strategy = std::array{ShardingStrategy::full_shard, ShardingStrategy::shard_grad_op,
                               ShardingStrategy::no_shard}[random() % 3];
    fsdp.use_orig_params = plan.lora.rank > 0 || chance();
    fsdp.limit_all_gathers = chance();
    fsdp.forward_prefetch = chance();
    plan.parallel.no_sync = chance();
    plan.parallel.rank = static_cast<int>(random()) & 1;
    plan.parallel.backend = chance() ? CommBackend::nccl : CommBackend::fake;
    CAPTURE(i);
    REQUIRE(plan_problems(plan).empty());
    REQUIRE(generator_gaps(plan).empty());
    const RequestTrace trace = generate(plan);
    CHECK(requests_of(trace, 3) == requests_of(trace, 4));
    std::int64_t live = 0;
    for (const std::int64_t request : requests_of(trace, 4)) {
      live += request;
    }
    CHECK(live == 0);
  }
}

TEST_CASE("fsdp1: sharding over all ranks adds up", "[workloads][fsdp1]") {
  TrainingPlan plan = sharded(7);
  plan.parallel.fsdp.use_orig_params = false;
  std::int64_t total = 0;
  for (plan.parallel.rank = 0; plan.parallel.rank < 7; ++plan.parallel.rank) {
    total += static_bytes(blocks_of(plan), Category::parameter);
  }
  const auto padded = [](std::int64_t length) { return (length + 6) / 7 * 7; };
  CHECK(total == (3 * padded(kBlock) + padded(kRoot)) * 4);
}

namespace {

/// The parameters and buffers of one decoder layer of LLaMA-7B with tables of 4096 positions.
class DecoderLayer : public nn::Module {
 public:
  explicit DecoderLayer(nn::ModelContext& context) : Module(context) {
    for (const char* name : {"q", "k", "v", "o"}) {
      make_parameter(name, {4096, 4096});
    }
    for (const char* name : {"gate", "up", "down"}) {
      make_parameter(name, {11008, 4096});
    }
    make_parameter("input_layernorm", {4096});
    make_parameter("post_attention_layernorm", {4096});
    register_buffer("inv_freq", eager::empty(runtime(), {64}, DType::fp32));
    register_buffer("cos", eager::empty(runtime(), {4096, 128}, DType::fp32));
    register_buffer("sin", eager::empty(runtime(), {4096, 128}, DType::fp32));
  }
};

/// Allocated and reserved bytes after each event, by phase.
class Course : public ReplayObserver {
 public:
  struct Point {
    std::int64_t allocated = 0;
    std::int64_t reserved = 0;
  };

  void on_event(const Event& event, AllocationStatus /*status*/,
                const Statistics& statistics) override {
    if (event.kind == EventKind::phase) {
      phases.emplace_back();
    } else if (!phases.empty()) {
      phases.back().push_back(
          {statistics.current(Stat::allocated_bytes), statistics.current(Stat::reserved_bytes)});
    }
  }

  std::vector<std::vector<Point>> phases;
};

std::string gib(std::int64_t bytes) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3f", static_cast<double>(bytes) / (1 << 30));
  return text.data();
}

}  // namespace

// https://github.com/pytorch/pytorch/issues/124260: 202,383,360 parameters, sync_module_states.
TEST_CASE("fsdp1: construction of one decoder layer takes the steps that were published",
          "[workloads][fsdp1]") {
  eager::Runtime runtime(default_gpu(), {2, 6}, {5, 12});
  const TrainingPlan plan;
  nn::ModelContext context{.runtime = runtime, .plan = plan};
  dist::ProcessGroup group(runtime, 2, CommBackend::nccl);
  RequestTrace trace;
  {
    runtime.mark_phase("model");
    DecoderLayer layer(context);
    std::vector<eager::Tensor> states;
    for (const auto& buffer : nn::named_buffers(layer)) {
      states.push_back(buffer.tensor);
    }
    for (const auto& parameter : nn::named_parameters(layer)) {
      states.push_back(parameter.tensor);
    }
    runtime.mark_phase("sync");
    dist::broadcast_coalesced(group, states);
    runtime.mark_phase("flatten");
    dist::FlattenedParams flattened;
    const dist::FlatParamHandle handle(layer, flattened, group, 0, {});
    CHECK(handle.flat_param.numel() == 202'383'360 / 2);
    trace = runtime.take_trace();
  }
  Course course;
  ReplayOptions options;
  options.version = &version_preset("2.6");
  options.observer = &course;
  replay(trace, options);
  REQUIRE(course.phases.size() == 3);
  CHECK(gib(course.phases[0].back().allocated) == "0.758");
  CHECK(gib(course.phases[0].back().reserved) == "0.775");
  CHECK(gib(course.phases[1].back().reserved) == "1.367");
  CHECK(gib(course.phases[2].front().allocated) == "1.512");  // the flat parameter is made
  CHECK(gib(course.phases[2].front().reserved) == "2.123");
}
