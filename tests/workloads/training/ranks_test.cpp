// Which ranks are alike, which layers stages hold, and what NCCL keeps for them.
#include "workloads/training/ranks.hpp"

#include <map>
#include <numeric>
#include <set>

#include <catch2/catch.hpp>

#include "tests/support/format_io.hpp"
#include "tests/support/plan_words.hpp"
#include "workloads/distributed/communicators.hpp"
#include "workloads/plan/catalog/presets.hpp"
#include "workloads/plan/pipeline/stage_layers.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/training/generate.hpp"
#include "workloads/training/outside_memory.hpp"

using namespace highwater;
using namespace highwater::literals;
using dist::LayerRange;
using dist::stage_layers;

namespace {

TrainingPlan plan_of(std::string_view model, const Parallelism& parallel) {
  TrainingPlan plan;
  plan.model = model_preset(model);
  plan.parallel = parallel;
  return plan;
}

std::int64_t ranks_in(const std::vector<RankClass>& classes) {
  return std::accumulate(classes.begin(), classes.end(), std::int64_t{0},
                         [](std::int64_t sum, const RankClass& each) { return sum + each.ranks; });
}

/// Sizes that no number of ranks divides.
constexpr std::string_view kOdd =
    R"({"model_type":"llama","hidden_size":240,"intermediate_size":688,"num_hidden_layers":3,)"
    R"("num_attention_heads":8,"num_key_value_heads":4,"vocab_size":1003})";
constexpr std::string_view kMixture =
    R"({"model_type":"mixtral","hidden_size":240,"intermediate_size":504,"num_hidden_layers":2,)"
    R"("num_attention_heads":8,"num_key_value_heads":4,"vocab_size":1003,"num_local_experts":4})";

/// Options as "name=value name=value".
TrainingPlan plan_of_words(std::string_view model, const std::string& options) {
  return test::plan_of_words("model=" + std::string(model) + " seq=48 " + options);
}

/// The events of a run as bytes, which have no gaps.
std::string bytes_of(const RequestTrace& trace) {
  static_assert(std::has_unique_object_representations_v<Event>);
  std::string bytes;
  for (const Event& event : trace.events) {
    bytes.append(reinterpret_cast<const char*>(&event), sizeof event);
  }
  return bytes;
}

/// The requests of each rank.
std::vector<std::string> requests_of_ranks(TrainingPlan plan) {
  std::vector<std::string> texts;
  for (int rank = 0; rank < plan.parallel.gpus(); ++rank) {
    plan.parallel.rank = rank;
    texts.push_back(bytes_of(generate(plan)));
  }
  return texts;
}

/// How many ranks make each of the requests: of all ranks, or by the first rank of each class.
using RanksByRequests = std::map<std::string, std::int64_t>;

RanksByRequests counted(const std::vector<std::string>& requests) {
  RanksByRequests counts;
  for (const std::string& text : requests) {
    ++counts[text];
  }
  return counts;
}

RanksByRequests counted(const std::vector<std::string>& requests,
                        const std::vector<RankClass>& classes) {
  RanksByRequests counts;
  for (const RankClass& each : classes) {
    counts[requests[static_cast<std::size_t>(each.rank)]] += each.ranks;
  }
  return counts;
}

}  // namespace

TEST_CASE("ranks: each makes the requests of its class", "[workloads][ranks]") {
  const std::pair<std::string_view, std::string> plans[] = {
      {kOdd, "framework=torch dp=3 zero-redundancy=parameters"},
      {kOdd, "framework=torch dp=5 zero-redundancy=buckets param-groups=2"},
      {kOdd, "framework=torch dp=4 zero-redundancy=parameters lora=3"},
      {kOdd, "framework=torch dp=3 dp-kind=fsdp1"},
      {kOdd, "framework=torch dp=7 dp-kind=fsdp2"},
      {kOdd, "framework=torch dp=4 dp-kind=fsdp2 dp-replicate=2"},
      {kOdd, "framework=accelerate-fsdp2 dp=3"},
      {kOdd, "framework=deepspeed dp=5 dp-kind=zero1 precision=bf16"},
      {kOdd, "framework=deepspeed dp=4 dp-kind=zero2 precision=bf16"},
      {kOdd, "framework=deepspeed dp=7 dp-kind=zero3 precision=bf16"},
      {kOdd, "framework=megatron dp=4 tp=2 pp=3 dp-kind=zero1 precision=bf16 grad-accum=3"},
      {kOdd, "framework=megatron dp=2 cp=3 dp-kind=zero1 precision=bf16"},
      {kOdd, "framework=torch dp=2 pp=3 grad-accum=3"},
      {kOdd, "framework=torchtitan dp=3 tp=2 sp=true"},
      {kMixture, "framework=megatron dp=4 ep=2 pp=2 dp-kind=zero1 precision=bf16 grad-accum=2"},
      {kMixture, "framework=megatron dp=4 ep=4 dp-kind=zero1 precision=bf16 moe-load=zipf:1"},
  };
  for (const auto& [model, options] : plans) {
    CAPTURE(options);
    const TrainingPlan plan = plan_of_words(model, options);
    const std::vector<std::string> requests = requests_of_ranks(plan);
    CHECK((counted(requests) == counted(requests, rank_classes(plan))));
    CHECK(ranks_in(coarse_rank_classes(plan)) == plan.parallel.gpus());
  }
}

TEST_CASE("ranks: where each group of experts has a load of its own, each rank is a class",
          "[workloads][ranks]") {
  TrainingPlan plan = plan_of_words(
      kMixture, "framework=megatron dp=4 ep=2 dp-kind=zero1 precision=bf16 checkpoint=full");
  plan.moe_load.shares = {4, 1, 1, 2, 1, 5, 2, 2};  // of four experts, twice
  const std::vector<std::string> requests = requests_of_ranks(plan);
  const auto classes = rank_classes(plan);
  CHECK(classes.size() == 4);
  CHECK(counted(requests).size() == 4);
  CHECK(classes[3].what == "shard 3 of 4, with part 1 of 2 of the experts, group 1 of 2 of them");
}

TEST_CASE("stage layers: even where they divide, ends lighter where they do not",
          "[workloads][ranks]") {
  CHECK(stage_layers(12, 4, 1) == std::vector{LayerRange{3, 3}});
  CHECK(stage_layers(126, 16, 0) == std::vector{LayerRange{0, 7}});
  CHECK(stage_layers(126, 16, 1) == std::vector{LayerRange{7, 8}});
  CHECK(stage_layers(126, 16, 15) == std::vector{LayerRange{119, 7}});
  // Eight layers over two stages of two chunks: stage 0 has virtual stages 0 and 2.
  CHECK(stage_layers(8, 2, 0, 2) == std::vector{LayerRange{0, 2}, LayerRange{4, 2}});
  CHECK(stage_layers(8, 2, 1, 2) == std::vector{LayerRange{2, 2}, LayerRange{6, 2}});
}

TEST_CASE("stage layers: every layer has one stage", "[workloads][ranks]") {
  for (int stages = 1; stages <= 7; ++stages) {
    for (int chunks = 1; chunks <= 3; ++chunks) {
      for (std::int64_t layers = std::int64_t{stages} * chunks; layers < 40; ++layers) {
        std::multiset<std::int64_t> held;
        for (int stage = 0; stage < stages; ++stage) {
          for (const LayerRange& range : stage_layers(layers, stages, stage, chunks)) {
            for (std::int64_t i = 0; i < range.count; ++i) {
              held.insert(range.first + i);
            }
          }
        }
        CAPTURE(stages, chunks, layers);
        REQUIRE(held.size() == static_cast<std::size_t>(layers));
        CHECK(std::set(held.begin(), held.end()).size() == held.size());
        CHECK(*held.begin() == 0);
        CHECK(*held.rbegin() == layers - 1);
      }
    }
  }
}

TEST_CASE("ranks: replicas are alike", "[workloads][ranks]") {
  const auto classes = rank_classes(plan_of("gpt2", {.dp = 64}));
  REQUIRE(classes.size() == 1);
  CHECK(classes.front().ranks == 64);
  CHECK(classes.front().what.empty());
}

// GPT-2's first dimensions are 50257, 1024, 768, 2304 and 3072: over 8 ranks only 50257 leaves
// the last one with fewer rows (8 * 6283 - 50257 = 7 missing).
TEST_CASE("ranks: shards with fewer rows are a class of their own", "[workloads][ranks]") {
  const auto classes = rank_classes(plan_of("gpt2", {.dp = 8, .dp_kind = DataParallel::fsdp2}));
  REQUIRE(classes.size() == 2);
  CHECK(classes[0].rank == 0);
  CHECK(classes[0].ranks == 7);
  CHECK(classes[1].rank == 7);
  CHECK(classes[1].what == "shard 7 of 8");
  CHECK(classes[0].share - classes[1].share == 7);
}

TEST_CASE("ranks: stages differ by what they hold and have in flight", "[workloads][ranks]") {
  TrainingPlan plan = plan_of("gpt2", {.dp = 2, .tp = 3, .pp = 4});
  plan.grad_accum = 8;
  const auto deep = rank_classes(plan);
  REQUIRE(deep.size() == 4);
  CHECK(deep[1].rank == 6);
  CHECK(deep[1].ranks == 6);
  CHECK(deep[0].what == "stage 0 of 4, with the embedding");
  CHECK(deep[3].what == "stage 3 of 4, with the head");
  plan.parallel.schedule = PipelineSchedule::gpipe;
  const auto lazy = rank_classes(plan);  // both middle stages keep all eight
  REQUIRE(lazy.size() == 3);
  CHECK(lazy[1].ranks == 12);
}

TEST_CASE("ranks: of a large job few stand for all", "[workloads][ranks]") {
  TrainingPlan plan = plan_of("llama-3.1-405b", {.dp = 128, .tp = 8, .pp = 16});
  plan.parallel.dp_kind = DataParallel::zero1;
  plan.grad_accum = 32;
  const auto classes = rank_classes(plan);
  CHECK(ranks_in(classes) == 16384);
  const auto chosen = representative_ranks(coarse_rank_classes(plan));
  CHECK(chosen.size() >= 16);
  CHECK(chosen.size() <= 48);
  std::set<int> stages;
  for (const RankClass& each : chosen) {
    stages.insert(each.place.pp);
    Parallelism at = plan.parallel;
    at.rank = each.rank;
    CHECK(rank_place(at) == each.place);
  }
  CHECK(stages.size() == 16);
}

TEST_CASE("communicators: one per axis, more where every pair is connected", "[workloads][ranks]") {
  CHECK(dist::communicators({}).empty());
  const auto pair = dist::communicators({.dp = 2});
  REQUIRE(pair.size() == 1);
  CHECK(pair.front().memory == 544_MiB);
  CHECK(dist::communicators({.dp = 2, .backend = CommBackend::fake}).empty());
  const auto job = dist::communicators({.dp = 8, .tp = 4, .ep = 8});
  REQUIRE(job.size() == 3);
  CHECK(job[0].memory == 688_MiB);
  // Measured: 3.28 GB more after the first all-to-all of eight ranks.
  CHECK(job[2].memory.count() - job[0].memory.count() == 7 * (3'280'000'000ULL / 7));
  const OutsideMemory outside = outside_memory(default_gpu(), "2.6", {.dp = 8, .tp = 4, .ep = 8});
  CHECK(outside.total() == outside.context + job[0].memory + job[1].memory + job[2].memory);
}
