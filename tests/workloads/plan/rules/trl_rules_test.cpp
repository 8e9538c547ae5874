// Rules of plans for TRL's loops beside supervised fine-tuning.
#include <algorithm>

#include <catch2/catch.hpp>

#include "workloads/plan/options/read_plan.hpp"
#include "workloads/plan/rules/plan_problems.hpp"
#include "workloads/plan/training_plan.hpp"

using namespace highwater;

namespace {

TrainingPlan plan_of_loop(OptionWords words) {
  words.emplace_back("model", "gpt2");
  std::vector<std::string> problems;
  TrainingPlan plan = read_plan_words(words, problems);
  CHECK(problems.empty());
  return plan;
}

bool has(const std::vector<std::string>& sentences, std::string_view part) {
  return std::ranges::any_of(
      sentences, [&](const std::string& each) { return each.find(part) != std::string::npos; });
}

}  // namespace

TEST_CASE("trl's loops: answers have a length of their own", "[plan][trl]") {
  for (const char* loop : {"trl-dpo", "trl-kto", "trl-orpo", "trl-grpo", "trl-rloo"}) {
    CAPTURE(loop);
    CHECK(plan_problems(plan_of_loop({{"framework", loop}, {"target-seq", "64"}})).empty());
  }
  for (const char* loop : {"trl-reward", "trl-sft", "hf"}) {
    CAPTURE(loop);
    CHECK(has(plan_problems(plan_of_loop({{"framework", loop}, {"target-seq", "64"}})),
              "target-seq 64"));
  }
}

TEST_CASE("trl's loops: only some have a reference, and none beside adapters", "[plan][trl]") {
  CHECK(plan_of_loop({{"framework", "trl-dpo"}}).reference_model);
  CHECK_FALSE(plan_of_loop({{"framework", "trl-grpo"}}).reference_model);
  CHECK_FALSE(plan_of_loop({{"framework", "trl-dpo"}, {"lora", "8"}}).reference_model);
  CHECK(has(plan_problems(plan_of_loop({{"framework", "trl-sft"}, {"reference-model", "true"}})),
            "reference-model: only trl-dpo"));
  CHECK(has(plan_problems(plan_of_loop(
                {{"framework", "trl-dpo"}, {"lora", "8"}, {"reference-model", "true"}})),
            "reference-model with adapters"));
}

TEST_CASE("trl's loops: the generator lacks them, and a reward model has one label",
          "[plan][trl]") {
  CHECK(has(generator_gaps(plan_of_loop({{"framework", "trl-kto"}})), "framework trl-kto"));
  CHECK(plan_of_loop({{"framework", "trl-reward"}}).model.labels == 1);
}
