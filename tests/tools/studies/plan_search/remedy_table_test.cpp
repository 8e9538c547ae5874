// What a remedy is said to cost is what its options do.
#include "tools/studies/plan_search/remedy_table.hpp"

#include <catch2/catch.hpp>

#include "workloads/plan/catalog/presets.hpp"
#include "workloads/plan/training_plan.hpp"

using namespace highwater;

namespace {

/// The costs of the rows that offload something of `plan`.
std::vector<std::string> offload_costs(const TrainingPlan& plan) {
  std::vector<std::string> costs;
  for (const RemedyRow& row : remedy_table()) {
    if (find_word(row.options(plan), "offload") != nullptr) {
      costs.emplace_back(row.costs);
    }
  }
  return costs;
}

/// The words of `option` that rows propose, in order.
std::vector<std::string> proposals(const TrainingPlan& plan, std::string_view option) {
  std::vector<std::string> words;
  for (const RemedyRow& row : remedy_table()) {
    const OptionWords options = row.options(plan);
    if (const std::string* word = find_word(options, option)) {
      words.push_back(*word);
    }
  }
  return words;
}

}  // namespace

TEST_CASE("remedies: adapters alone, then beside 8 bits, then beside 4", "[cli][simulate]") {
  TrainingPlan plan;
  plan.model = model_preset("llama-3.2-1b");
  plan.framework = Framework::hf;
  CHECK(proposals(plan, "lora") == std::vector<std::string>{"16", "16", "16"});
  CHECK(proposals(plan, "quantize") == std::vector<std::string>{"int8", "nf4"});
  CHECK(proposals(plan, "double-quant") == std::vector<std::string>{"true"});
  plan.lora.rank = 8;
  plan.init = ModelInit::cpu;
  plan.quantization.weights = WeightFormat::int8;
  CHECK(proposals(plan, "quantize") == std::vector<std::string>{"nf4"});
  CHECK(proposals(plan, "lora") == std::vector<std::string>{"8"});
  plan.quantization.weights = WeightFormat::nf4;
  CHECK(proposals(plan, "quantize").empty());
  plan.model = model_preset("t5-3b");
  plan.quantization = {};
  CHECK(proposals(plan, "quantize").empty());
}

// DeepSpeed's stages share one thing more each (arXiv 1910.02054); on one GPU there is the host
// (ZeRO-Offload, arXiv 2101.06840).
TEST_CASE("remedies: the next stages of ZeRO, and the host of one GPU", "[cli][simulate]") {
  using Words = std::vector<std::string>;
  TrainingPlan plan;
  plan.model = model_preset("llama-7b");
  plan.framework = Framework::deepspeed;
  plan.precision = Precision::fp16;
  plan.parallel.dp = 8;
  plan.parallel.dp_kind = DataParallel::zero1;
  CHECK(proposals(plan, "dp-kind") == Words{"zero2", "zero3"});
  plan.parallel.dp_kind = DataParallel::zero2;
  CHECK(proposals(plan, "dp-kind") == Words{"zero3"});
  plan.parallel.dp_kind = DataParallel::zero3;
  CHECK(proposals(plan, "dp-kind").empty());
  CHECK(proposals(plan, "offload") == Words{"optimizer", "both"});
  plan.parallel = {};
  plan.framework = Framework::hf;
  plan.precision = Precision::amp_bf16;
  CHECK(proposals(plan, "dp-kind") == Words{"zero2", "zero3"});
  CHECK(proposals(plan, "offload") == Words{"optimizer", "both"});
  plan.parallel.dp = 8;
  CHECK(proposals(plan, "dp-kind") == Words{"fsdp2"});
}

TEST_CASE("remedies: torchtune's own layers have NF4 alone", "[cli][simulate]") {
  TrainingPlan plan;
  plan.model = model_preset("llama-3.2-1b");
  plan.framework = Framework::torchtune;
  plan.model_code = ModelCode::torchtune;
  plan.precision = Precision::bf16;
  plan.lora.rank = 8;
  CHECK(proposals(plan, "quantize") == std::vector<std::string>{"nf4"});
  CHECK(proposals(plan, "lora") == std::vector<std::string>{"8"});
}

TEST_CASE(
    "remedies: FSDP offloads parameters and gradients as well, DeepSpeed optimizer states only",
    "[cli][simulate]") {
  TrainingPlan plan;
  CHECK(offload_costs(plan) ==
        std::vector<std::string>{
            "keeps optimizer states in host memory, by DeepSpeed",
            "keeps parameters and optimizer states in host memory, by DeepSpeed"});
  plan.parallel.dp = 2;
  for (const DataParallel kind : {DataParallel::fsdp1, DataParallel::fsdp2}) {
    plan.parallel.dp_kind = kind;
    CHECK(offload_costs(plan) ==
          std::vector<std::string>{
              "keeps parameters, gradients and optimizer states in host memory"});
  }
  plan.parallel.dp_kind = DataParallel::zero2;
  CHECK(offload_costs(plan) == std::vector<std::string>{"keeps optimizer states in host memory"});
  plan.parallel.offload = Offload::optimizer;
  CHECK(offload_costs(plan).empty());
}
