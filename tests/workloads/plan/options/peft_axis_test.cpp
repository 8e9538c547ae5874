// PEFT's configurations of adapters as options of a plan.
#include <algorithm>

#include <catch2/catch.hpp>

#include "traces/error.hpp"
#include "workloads/plan/options/option_table.hpp"
#include "workloads/plan/rules/plan_problems.hpp"
#include "workloads/plan/training_plan.hpp"

using namespace highwater;
using Catch::Matchers::Contains;

namespace {

TrainingPlan with_adapter(const std::string& text) {
  TrainingPlan plan = default_plan();
  CHECK(option_called("peft").set(plan, text) == std::nullopt);
  return plan;
}

}  // namespace

TEST_CASE("peft: LoRA that options say is these options", "[plan][peft]") {
  // As PEFT 0.21's save_pretrained() writes LoraConfig(r=16, target_modules=["v_proj", "q_proj"]).
  const TrainingPlan plan = with_adapter(R"({"peft_type": "LORA", "r": 16, "lora_alpha": 32,
      "target_modules": ["v_proj", "q_proj"], "lora_dropout": 0.05, "use_dora": true, "bias": "none",
      "inference_mode": true, "modules_to_save": null, "rank_pattern": {}, "init_lora_weights": true,
      "megatron_core": "megatron.core", "task_type": "CAUSAL_LM"})");
  CHECK(plan.peft.empty());
  CHECK(plan.lora.rank == 16);
  CHECK(plan.lora.dropout == 0.05);
  CHECK(plan.lora.targets == std::vector<std::string>{"q_proj", "v_proj"});
  CHECK(plan.lora.dora);
  CHECK(with_adapter(R"({"peft_type": "LORA", "r": 8, "target_modules": "all-linear"})")
            .lora.targets == std::vector<std::string>{"all-linear"});
}

TEST_CASE("peft: other adapters need PEFT itself", "[plan][peft]") {
  for (const char* text :
       {R"({"peft_type": "IA3"})", R"({"peft_type": "LORA", "r": 8, "lora_bias": true})",
        R"({"peft_type": "LORA", "r": 8, "modules_to_save": ["lm_head"]})"}) {
    CAPTURE(text);
    const TrainingPlan plan = with_adapter(text);
    CHECK(plan.lora.rank == 0);
    CHECK(trains_adapters(plan));
    CHECK_THAT(generator_gaps(plan).front(), Contains("peft") && Contains("--engine torch"));
    CHECK(with_adapter(option_called("peft").text(plan)).peft == plan.peft);
  }
}

TEST_CASE("peft: what is no configuration is refused with its reason", "[plan][peft]") {
  TrainingPlan plan = default_plan();
  const Option& option = option_called("peft");
  CHECK_THROWS_WITH(option.set(plan, R"({"r": 8})"), Contains("no \"peft_type\""));
  CHECK_THROWS_WITH(option.set(plan, "{"), Contains("adapter_config.json"));
  CHECK_THAT(option.set(plan, "no/such/adapter_config.json").value_or(""),
             Contains("no such file"));
  CHECK(option.set(plan, "none") == std::nullopt);
}

TEST_CASE("peft: one word for adapters", "[plan][peft]") {
  TrainingPlan plan = with_adapter(R"({"peft_type": "IA3"})");
  plan.lora.rank = 8;
  const std::vector<std::string> problems = plan_problems(plan);
  CHECK(std::ranges::any_of(problems, [](const std::string& each) {
    return each.find("lora with peft") != std::string::npos;
  }));
}
