// Colossal-AI's Gemini: chunks by hand, shards over all ranks, what a step asks for.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "sim/replay/replay.hpp"
#include "tests/support/recorded_releases.hpp"
#include "tests/support/step_requests.hpp"
#include "workloads/colossalai/chunk_manager.hpp"
#include "workloads/colossalai/gemini_strategy.hpp"
#include "workloads/colossalai/resize_storage.hpp"
#include "workloads/plan/catalog/presets.hpp"
#include "workloads/plan/model/families/families.hpp"
#include "workloads/plan/options/framework_profile.hpp"
#include "workloads/plan/rules/plan_problems.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/training/generate.hpp"
#include "workloads/training/outside_memory.hpp"

using namespace highwater;
using highwater::distributed_runs::requests_of;

namespace {

using dist::Chunk;
using dist::ChunkConfig;
using dist::ChunkOptions;
using dist::ProcessGroup;
using eager::Runtime;
using eager::Tensor;

constexpr std::int64_t kMi = 1 << 20;

ModelSpec small_opt() {
  OptConfig config = model_preset("opt-125m").config.as<OptConfig>();
  config.vocab_size = 512;
  config.hidden_size = 128;
  config.word_embed_proj_dim = 128;
  config.ffn_dim = 256;
  config.num_hidden_layers = 2;
  config.num_attention_heads = 4;
  config.max_position_embeddings = 256;
  return {"small-opt", "test", config};
}

TrainingPlan gemini_plan(int dp, int tp, ModelSpec model = small_opt()) {
  TrainingPlan plan;
  plan.versions = test::kRecordedReleases;
  apply_framework(Framework::colossalai_gemini, plan);
  plan.model = std::move(model);
  plan.batch = 2;
  plan.seq = {64};
  plan.parallel.dp = dp;
  plan.parallel.tp = tp;
  return plan;
}

ModelSpec small_llama() {
  LlamaConfig config = model_preset("llama-7b").config.as<LlamaConfig>();
  config.vocab_size = 8000;
  config.hidden_size = 512;
  config.intermediate_size = 1408;
  config.num_hidden_layers = 4;
  config.num_attention_heads = 8;
  config.num_key_value_heads = 8;
  config.max_position_embeddings = 1024;
  return {"small-llama", "test", config};
}

Usage peaks_of(const TrainingPlan& plan) {
  ReplayOptions options;
  options.version = &version_preset("2.6");
  return replay(generate(plan), options).peak;
}

/// Bytes of the allocations of one category, in order.
std::vector<std::int64_t> allocations(const RequestTrace& trace, Category category) {
  std::vector<std::int64_t> bytes;
  for (const Event& event : trace.events) {
    if (event.kind == EventKind::alloc && event.category == category) {
      bytes.push_back(static_cast<std::int64_t>(event.value));
    }
  }
  return bytes;
}

std::int64_t count_of(const std::vector<std::int64_t>& list, std::int64_t value) {
  return std::ranges::count(list, value);
}

/// Bytes of a category that no event frees.
std::int64_t lasting(const RequestTrace& trace, Category category) {
  std::map<std::size_t, std::int64_t> alive;
  for (const Event& event : trace.events) {
    if (event.kind == EventKind::alloc && event.category == category) {
      alive[event.allocation.index()] = static_cast<std::int64_t>(event.value);
    } else if (event.kind == EventKind::free) {
      alive.erase(event.allocation.index());
    }
  }
  std::int64_t total = 0;
  for (const auto& [allocation, bytes] : alive) {
    total += bytes;
  }
  return total;
}

/// One sequence of 512 tokens as LLMem trained it, on a V100 of 16,384 MiB of which 16,160 are left
/// to programs and some of those to the context and NCCL.
std::uint64_t failures_on_v100(const char* model, int dp, int tp) {
  TrainingPlan plan = gemini_plan(dp, tp, model_preset(model));
  plan.batch = 1;
  plan.seq = {512};
  plan.steps = 2;
  plan.gpu = *find_gpu("v100-16");
  plan.versions.transformers = "4.29.2";
  ReplayOptions options;
  options.version = &version_preset("2.6");
  options.capacity = plan.gpu.total_memory - outside_memory(plan).total();
  options.after_oom = AfterOom::stop;
  return replay(generate(plan), options).counts.ooms;
}

}  // namespace

TEST_CASE("gemini: LLMem's pattern of what fits on four V100", "[workloads][gemini]") {
  CHECK(failures_on_v100("bloom-3b", 2, 2) > 0);  // for want of four communicators' buffers
  CHECK(failures_on_v100("codegen-2B", 4, 1) > 0);
  CHECK(failures_on_v100("codegen-2B", 2, 2) == 0);
  CHECK(failures_on_v100("codegen-2B", 1, 4) == 0);
  CHECK(failures_on_v100("bloom-3b", 4, 1) > 0);
  CHECK(failures_on_v100("bloom-3b", 1, 4) == 0);
  CHECK(failures_on_v100("santacoder", 4, 1) == 0);
  CHECK(failures_on_v100("biogpt-large", 2, 2) == 0);  // 25 heads, which nothing splits
  CHECK(failures_on_v100("llama-7b", 1, 4) > 0);
}

TEST_CASE("gemini: a small group is one chunk that stays whole", "[workloads][gemini]") {
  const std::vector<std::int64_t> elements{30 * kMi, 1000, 20 * kMi, 3000};
  const std::vector<int> ranks{2, 4, 2, 4};
  const auto configs = dist::search_chunk_configuration(elements, ranks, {});
  CHECK(configs.at(4) == ChunkConfig{4000, true});
  // Chunks of 50 Mi waste nothing: both weights fit into one.
  CHECK(configs.at(2) == ChunkConfig{50 * kMi, false});
}

TEST_CASE("gemini: what one rank has alone stays gathered", "[workloads][gemini]") {
  const std::vector<std::int64_t> elements{40 * kMi};
  const std::vector<int> ranks{1};
  CHECK(dist::search_chunk_configuration(elements, ranks, {}).at(1) == ChunkConfig{40 * kMi, true});
  Gemini unchanged;
  unchanged.keep_lone_chunks_gathered = false;
  CHECK_FALSE(dist::search_chunk_configuration(elements, ranks, unchanged).at(1).keeps_gathered);
}

TEST_CASE("gemini: a resized storage is another block under the same tensors",
          "[workloads][gemini]") {
  Runtime runtime(default_gpu(), {2, 6}, {4, 29});
  Tensor whole = eager::empty(runtime, {1024}, DType::fp16);
  const Tensor part = eager::slice(whole, 0, 0, 512);
  dist::resize_storage(whole, 0);
  CHECK_FALSE(part->storage->has_block);
  dist::resize_storage(whole, 2048);
  CHECK(part->storage->has_block);
  whole.reset();
  CHECK(part->storage->bytes == 2048);
}

TEST_CASE("gemini: the ranks' parts of a chunk's tensors make up the whole",
          "[workloads][gemini]") {
  Runtime runtime(default_gpu(), {2, 6}, {4, 29});
  ProcessGroup group(runtime, 4, CommBackend::nccl);
  // Shards of 25 elements: tensors of 30, 10 and 50 leave 10 unused.
  const std::vector<std::int64_t> sizes{30, 10, 50};
  std::vector<std::int64_t> owned(sizes.size());
  for (int rank = 0; rank < 4; ++rank) {
    Chunk chunk(group, ChunkOptions{.size = 100, .rank = rank});
    for (const std::int64_t size : sizes) {
      REQUIRE(chunk.has_room_for(size));
      chunk.append(eager::empty(runtime, {size}, DType::fp16));
    }
    CHECK(chunk.has_room_for(10));
    CHECK_FALSE(chunk.has_room_for(11));
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      owned[i] += chunk.range(i).size();
    }
  }
  CHECK(owned == sizes);
}

TEST_CASE("gemini: chunks of OPT-125m and BLOOM-560m are as searched", "[workloads][gemini]") {
  TrainingPlan plan = gemini_plan(4, 1, model_preset("opt-125m"));
  plan.steps = 1;
  RequestTrace trace = generate(plan);
  // Built once and gathered once: three chunks of 44,101,632 elements, a quarter of each kept.
  CHECK(count_of(allocations(trace, Category::parameter), 2 * 44101632) == 2 * 3);
  CHECK(count_of(allocations(trace, Category::optimizer_state), 4 * 44101632) == 3);
  CHECK(lasting(trace, Category::parameter) == 3 * 44101632 / 4 * 2);

  plan.model = model_preset("bloom-560m");
  trace = generate(plan);
  // The word embedding, 250880 * 1024 elements, has a chunk of its own.
  CHECK(count_of(allocations(trace, Category::optimizer_state), 4 * 50385920) == 6);
  CHECK(count_of(allocations(trace, Category::optimizer_state), 4LL * 250880 * 1024) == 1);
}

TEST_CASE("gemini: moments of all ranks cover every parameter once", "[workloads][gemini]") {
  std::int64_t total = 0;
  std::int64_t fp32_chunks = 0;
  for (int rank = 0; rank < 4; ++rank) {
    TrainingPlan plan = gemini_plan(4, 1, model_preset("opt-125m"));
    plan.steps = 1;
    plan.batch = 1;
    plan.parallel.rank = rank;
    const RequestTrace trace = generate(plan);
    total += lasting(trace, Category::optimizer_state);
    fp32_chunks += 3LL * 44101632 / 4 * 4;
  }
  CHECK(total - fp32_chunks == 8LL * 125239296);
}

TEST_CASE("gemini: a model below the smallest chunk is replicated", "[workloads][gemini]") {
  const auto one = lasting(generate(gemini_plan(1, 1)), Category::optimizer_state);
  const auto four = lasting(generate(gemini_plan(4, 1)), Category::optimizer_state);
  CHECK(one == four);
  CHECK(one > 0);
}

TEST_CASE("gemini: with a smaller least chunk a small model is sharded", "[workloads][gemini]") {
  TrainingPlan plan = gemini_plan(4, 1);
  const auto replicated = lasting(generate(plan), Category::optimizer_state);
  plan.parallel.gemini.search = {.smallest = 1 << 16, .range = 1 << 16, .step = 1024};
  REQUIRE(plan_problems(plan).empty());
  CHECK(lasting(generate(plan), Category::optimizer_state) < replicated / 2);
  plan.framework = Framework::torch;
  CHECK_FALSE(plan_problems(plan).empty());
}

TEST_CASE("gemini: any split comes to a steady state", "[workloads][gemini]") {
  const std::vector<std::pair<int, int>> splits{{1, 1}, {4, 1}, {2, 2}, {1, 4}};
  for (const auto& [dp, tp] : splits) {
    for (const char* preset : {"", "opt-125m"}) {
      const std::string name = preset;
      TrainingPlan plan =
          gemini_plan(dp, tp, name.empty() ? small_opt() : model_preset("opt-125m"));
      plan.batch = 1;
      plan.steps = 4;
      CAPTURE(dp, tp, name);
      REQUIRE(plan_problems(plan).empty());
      const RequestTrace trace = generate(plan);
      CHECK(requests_of(trace, 2) == requests_of(trace, 3));
    }
  }
}

TEST_CASE("gemini: tensor parallelism splits weights and keeps norms and biases",
          "[workloads][gemini]") {
  const auto states = [](int tp) {
    TrainingPlan plan = gemini_plan(1, tp);
    plan.steps = 1;
    return lasting(generate(plan), Category::optimizer_state);
  };
  // Embeddings: 512 + 258 rows of 128. A layer: 4 * 128 * 128 + 2 * 128 * 256 in weights,
  // 4 * 128 + 256 + 128 in biases, 4 * 128 in norms. A final norm of 2 * 128.
  const std::int64_t weights = (512 + 258) * 128 + 2 * (4 * 128 * 128 + 2 * 128 * 256);
  const std::int64_t whole = 2 * (4 * 128 + 256 + 128 + 4 * 128) + 2 * 128;
  CHECK(states(1) == 12 * (weights + whole));
  CHECK(states(2) == 12 * (weights / 2 + whole));
  CHECK(states(4) == 12 * (weights / 4 + whole));
}

TEST_CASE("gemini: placements as recorded from Colossal-AI", "[workloads][gemini]") {
  // tools/python/frameworks/users/train_gemini.py with Colossal-AI 0.3.0 and torch 2.6, rank 0 of
  // 4 on a V100 of 16 GB: batch 2, seq 256, chunks of 1 to 2 Mi elements, collect=1.
  struct Row {
    Gemini placement;
    std::int64_t batch, seq;
    ModelInit init;
    std::uint64_t requested, allocated, reserved;
  };

  Gemini cpu;
  cpu.search = {.smallest = kMi, .range = kMi, .step = 1024};
  cpu.placement = GeminiPlacement::cpu;
  Gemini limited = cpu;
  limited.placement = GeminiPlacement::constant;
  limited.gathered_limit_mib = 20;
  Gemini measured = cpu;
  measured.placement = GeminiPlacement::automatic;
  measured.warmup_other_share = 0.997;
  measured.steady_share = 0.08;
  measured.margin_share = 0.003;
  const std::vector<Row> rows{
      {cpu, 2, 256, ModelInit::pretrained_half, 92358912, 93932544, 115343360},
      {limited, 2, 256, ModelInit::pretrained_half, 92358912, 93932544, 125829120},
      {measured, 4, 1024, ModelInit::pretrained_half, 624320677, 629159424, 1015021568},
      {cpu, 2, 256, ModelInit::cpu, 78921893, 80172544, 104857600},
  };
  for (const Row& row : rows) {
    TrainingPlan plan = gemini_plan(4, 1, small_llama());
    plan.batch = row.batch;
    plan.seq = {row.seq};
    plan.steps = 3;
    plan.gpu = *find_gpu("v100-16");
    plan.init = row.init;
    plan.parallel.gemini = row.placement;
    CAPTURE(row.placement.placement, row.init);
    REQUIRE(plan_problems(plan).empty());
    const Usage peaks = peaks_of(plan);
    CHECK(peaks.requested.count() == row.requested);
    CHECK(peaks.allocated.count() == row.allocated);
    CHECK(peaks.active.count() == row.allocated);
    CHECK(peaks.reserved.count() == row.reserved);
  }
}

TEST_CASE("gemini: a limit that one operator's chunks exceed ends the run", "[workloads][gemini]") {
  TrainingPlan plan = gemini_plan(4, 1, model_preset("opt-125m"));
  plan.parallel.gemini.placement = GeminiPlacement::constant;
  plan.parallel.gemini.gathered_limit_mib = 1;
  CHECK_THROWS_AS(generate(plan), InputError);
}

TEST_CASE("gemini: LLaMA-7B runs on four V100 with its chunks on the host", "[workloads][gemini]") {
  TrainingPlan plan = gemini_plan(4, 1, model_preset("llama-7b"));
  plan.batch = 1;
  plan.seq = {512};
  plan.steps = 2;
  plan.gpu = *find_gpu("v100-16");
  plan.versions.transformers = "4.29.2";
  plan.init = ModelInit::cpu;
  plan.parallel.gemini.placement = GeminiPlacement::cpu;
  CHECK(peaks_of(plan).reserved < Bytes{4ULL << 30});
}

TEST_CASE("gemini: what it cannot do is said", "[workloads][gemini]") {
  TrainingPlan plan = gemini_plan(4, 1);
  CHECK(plan_problems(plan).empty());
  plan.grad_accum = 2;
  CHECK(plan_problems(plan).size() == 1);
  plan = gemini_plan(4, 1);
  plan.precision = Precision::amp_fp16;
  plan.init = ModelInit::cpu;
  CHECK(plan_problems(plan).size() == 1);
  plan = gemini_plan(4, 1);
  plan.parallel.dp_kind = DataParallel::ddp;
  CHECK(plan_problems(plan).size() == 1);
  plan = gemini_plan(2, 2);
  plan.parallel.tp_kind = TensorParallel::megatron;
  CHECK(plan_problems(plan).size() == 1);
}
