// What `plan` tries: factorisations, each strategy under one name, and reasons for what is left
// out.
#include <set>
#include <string>
#include <tuple>

#include <catch2/catch.hpp>

#include "tests/support/recorded_releases.hpp"
#include "tools/studies/plan_search/strategy_search.hpp"
#include "workloads/plan/catalog/presets.hpp"

using namespace highwater;

namespace {

TrainingPlan base(std::string_view model) {
  TrainingPlan plan;
  plan.versions = test::kRecordedReleases;
  plan.model = model_preset(model);
  plan.precision = Precision::bf16;
  plan.seq = {256};
  return plan;
}

/// All candidates, whatever group they are in.
std::vector<Candidate> runnable(const TrainingPlan& plan, int gpus) {
  std::vector<Candidate> all;
  for (const auto& group : strategy_candidates(plan, gpus).runnable) {
    all.insert(all.end(), group.begin(), group.end());
  }
  return all;
}

}  // namespace

TEST_CASE("strategies: every candidate uses all GPUs and can be simulated", "[cli][plan]") {
  for (const int gpus : {1, 2, 6, 8}) {
    const std::vector<Candidate> candidates = runnable(base("llama-160m"), gpus);
    std::set<std::string> plans;
    for (const Candidate& candidate : candidates) {
      const Parallelism& p = candidate.plan.parallel;
      CAPTURE(gpus, std::string(candidate.strategy), p.dp, p.tp, p.pp);
      CHECK(p.gpus() == gpus);
      CHECK(p.tp <= kRanksOfMachine);
      CHECK(plan_problems(candidate.plan).empty());
      CHECK(generator_gaps(candidate.plan).empty());
      const auto key = std::string(candidate.strategy) + std::to_string(p.tp) + "x" +
                       std::to_string(p.pp) +
                       std::to_string(static_cast<int>(candidate.plan.checkpoint.kind));
      CHECK(plans.insert(key).second);
    }
    CHECK(candidates.size() == (gpus == 1 ? 4 : plans.size()));
  }
}

TEST_CASE("strategies: a group starts with full checkpointing, the rest keeps more",
          "[cli][plan]") {
  for (const auto& group : strategy_candidates(base("llama-160m"), 8).runnable) {
    CAPTURE(std::string(group.front().strategy));
    REQUIRE(group.size() >= 3);
    CHECK(group[0].plan.checkpoint.kind == CheckpointKind::full);
    CHECK(group[1].plan.checkpoint.kind == CheckpointKind::none);
    CHECK(group[2].plan.checkpoint.kind == CheckpointKind::every_n);
    CHECK(group[2].plan.checkpoint.n == 2);
  }
}

TEST_CASE("strategies: HSDP copies the model for each of several machines", "[cli][plan]") {
  const auto copies = [](int gpus) {
    std::set<int> replicas;
    for (const Candidate& candidate : runnable(base("llama-160m"), gpus)) {
      const Parallelism& p = candidate.plan.parallel;
      if (p.fsdp.replicas > 1) {
        CHECK(p.dp == gpus);
        CHECK(p.dp / p.fsdp.replicas == kRanksOfMachine);
        replicas.insert(p.fsdp.replicas);
      }
    }
    return replicas;
  };
  CHECK(copies(8).empty());
  CHECK(copies(12).empty());
  CHECK(copies(16) == std::set{2});
  CHECK(copies(32) == std::set{4});
}

TEST_CASE("strategies: FSDP2 shards a model that no rank has whole", "[cli][plan]") {
  for (const Candidate& candidate : runnable(base("llama-160m"), 4)) {
    CHECK((candidate.plan.init == ModelInit::meta) ==
          (candidate.plan.parallel.dp_kind == DataParallel::fsdp2));
  }
}

TEST_CASE("strategies: a pipelined step has micro-batches", "[cli][plan]") {
  bool has_pipeline = false;
  for (const Candidate& candidate : runnable(base("llama-160m"), 4)) {
    const Parallelism& p = candidate.plan.parallel;
    CHECK(candidate.plan.grad_accum == (p.pp > 1 ? 4 * p.pp : 1));
    has_pipeline = has_pipeline || p.pp > 1;
  }
  CHECK(has_pipeline);
}

TEST_CASE("strategies: a reason is given once, with the strategies that it keeps out",
          "[cli][plan]") {
  TrainingPlan bloom = base("bloom-560m");
  bloom.attention = Attention::eager;
  const Candidates candidates = strategy_candidates(bloom, 4);
  CHECK_FALSE(candidates.runnable.empty());
  std::set<std::string> reasons;
  for (const std::string& sentence : candidates.left_out) {
    reasons.insert(sentence.substr(sentence.find(": ")));
  }
  CHECK(reasons.size() == candidates.left_out.size());
  CHECK(std::ranges::any_of(candidates.left_out, [](const std::string& sentence) {
    return sentence.starts_with("Megatron; Megatron, ");
  }));
}

TEST_CASE("strategies: those that fit come first, fastest first", "[cli][plan]") {
  PlannedRun run{.plan = base("llama-160m")};
  run.plan.gpu = *find_gpu("rtx2080ti");
  run.plan.precision = Precision::fp16;
  run.plan.attention = Attention::sdpa_math;
  const StrategySearch search = search_strategies(run, {}, Bytes{3ULL << 30U}, 2);
  REQUIRE(search.results.size() >= 4);
  bool fits = true;
  double speed = search.results.front().sequences_per_second;
  for (const StrategyResult& result : search.results) {
    CHECK((fits || !result.fits()));
    fits = result.fits();
    CHECK(result.sequences_per_second <= speed);
    speed = result.sequences_per_second;
    if (result.fits()) {
      CHECK(result.llmem_score == result.candidate.plan.batch * result.candidate.plan.parallel.dp);
    }
  }
}

TEST_CASE("strategies: no group is searched further where full checkpointing fails",
          "[cli][plan]") {
  PlannedRun run{.plan = base("llama-160m")};
  run.plan.gpu = *find_gpu("rtx2080ti");
  run.plan.precision = Precision::fp16;
  run.plan.attention = Attention::sdpa_math;
  const StrategySearch search = search_strategies(run, {}, Bytes{1ULL << 30U}, 1);
  REQUIRE(search.results.size() == 1);
  CHECK_FALSE(search.results.front().fits());
  CHECK(search.results.front().candidate.plan.checkpoint.kind == CheckpointKind::full);
  CHECK(search.dominated == 3);
}

TEST_CASE("strategies: what cannot fit at all is not simulated", "[cli][plan]") {
  const PlannedRun run{.plan = base("llama-3-8b")};
  const StrategySearch search = search_strategies(run, {}, Bytes{3ULL << 30U}, 4);
  CHECK(search.results.empty());
  REQUIRE(search.left_out.size() == 1);
  CHECK(search.left_out.front().find("3.74 GiB of 3.00 GiB") != std::string::npos);
}

TEST_CASE("strategies: every family can be planned for", "[cli][plan]") {
  for (const char* model : {"t5-small", "mixtral-small", "opt-125m", "gpt-neo-125m"}) {
    TrainingPlan plan = base(model);
    plan.attention = supports_sdpa(plan) ? Attention::sdpa : Attention::eager;
    plan.seq = {64};
    for (const Candidate& candidate : runnable(plan, 2)) {
      CAPTURE(std::string(model), std::string(candidate.strategy));
      CHECK_NOTHROW(generate(candidate.plan));
    }
  }
}
