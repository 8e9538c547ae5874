// Published runs as options; what they need is in tools/docs/sources.md, whose commands are run.
#include "workloads/sources/published_run.hpp"

#include <catch2/catch.hpp>

#include "workloads/plan/model/parameter_count.hpp"
#include "workloads/plan/options/read_plan.hpp"
#include "workloads/plan/training_plan.hpp"

using namespace highwater;

namespace {

TrainingPlan plan_of(const PublishedRun& run) {
  std::vector<std::string> problems;
  TrainingPlan plan = read_plan_words(plan_of_published(run).words, problems);
  CAPTURE(problems);
  CHECK(problems.empty());
  return plan;
}

}  // namespace

TEST_CASE("published runs: every one is a sound plan with its sources", "[plan][sources]") {
  for (const PublishedRun& run : published_runs()) {
    CAPTURE(run.name);
    CHECK(plan_of(run).gpu.name.size() > 3);
    CHECK(run.source.find("arXiv:") != std::string::npos);
    CHECK(plan_of_published(run).keys.size() == run.facts.size() + run.gaps.size());
  }
}

// 12 L h^2 + (51,200 + 1,024) h of the paper's sizes, without norms and biases.
TEST_CASE("published runs: Megatron-LM's sizes have the published parameters", "[plan][sources]") {
  const auto parameters = [](std::string_view name) {
    return static_cast<double>(
        parameter_count(plan_of(*find_published_run(name)).model.config).total());
  };
  CHECK(parameters("megatron-gpt2-1.2b") == Approx(1.212e9).epsilon(0.002));
  CHECK(parameters("megatron-gpt2-2.5b") == Approx(2.489e9).epsilon(0.002));
  CHECK(parameters("megatron-gpt2-4.2b") == Approx(4.198e9).epsilon(0.002));
  CHECK(parameters("Megatron-GPT2-8.3B") == Approx(8.314e9).epsilon(0.002));
}

TEST_CASE("published runs: BLOOM's 384 GPUs and 2,048 sequences a step", "[plan][sources]") {
  const TrainingPlan plan = plan_of(*find_published_run("bloom-176b"));
  const Parallelism& p = plan.parallel;
  CHECK(p.tp * p.pp * p.dp == 384);
  CHECK(plan.batch * plan.grad_accum * p.dp == 2048);
  CHECK(find_published_run("bloom") == nullptr);
}
