// NeMo Automodel's recipes as plans. Expected values: Automodel of August 2026,
// recipes/llm/train_ft.py and components/.
#include <algorithm>

#include <catch2/catch.hpp>

#include "tests/support/source_words.hpp"
#include "traces/error.hpp"
#include "workloads/sources/programs/program.hpp"
#include "workloads/sources/settings/read_settings.hpp"

using namespace highwater;
using Catch::Matchers::Contains;

namespace {

PlanSource automodel_yaml(const std::string& text) {
  return plan_of_settings(read_yaml_settings(text, "x.yaml"), "x.yaml");
}

const std::string kRecipe =
    "recipe: TrainFinetuneRecipeForNextTokenPrediction\n"
    "step_scheduler:\n  global_batch_size: 64\n  local_batch_size: 8\n"
    "model:\n  _target_: nemo_automodel.NeMoAutoModelForCausalLM.from_pretrained\n"
    "  pretrained_model_name_or_path: meta-llama/Llama-3.2-1B\n"
    "distributed:\n  strategy: fsdp2\n  dp_size: none\n  tp_size: 1\n  cp_size: 1\n"
    "dataset:\n  seq_length: 2048\n"
    "optimizer:\n  _target_: torch.optim.Adam\n  lr: 1.0e-5\n";

}  // namespace

TEST_CASE("automodel: a whole model under fully_shard", "[plan][sources][automodel]") {
  const PlanSource plan = automodel_yaml(kRecipe);
  CHECK(test::source_words(plan, {"framework", "model", "batch", "global-batch", "seq",
                                  "dp-kind"}) == "hf meta-llama/Llama-3.2-1B 8 64 2048 fsdp2");
  CHECK(test::source_words(plan, {"precision", "optimizer", "grad-clip", "tp"}) ==
        "bf16 adam 1.0 -");
}

TEST_CASE("automodel: fp32 weights are gathered in bf16", "[plan][sources][automodel]") {
  std::string text = kRecipe;
  text.replace(text.find("distributed:"), 0, "  torch_dtype: float32\n");
  CHECK(test::source_words(automodel_yaml(text), {"precision", "param-dtype"}) == "fp32 bf16");
}

TEST_CASE("automodel: patterns of modules become the family's layers",
          "[plan][sources][automodel]") {
  const PlanSource plan =
      automodel_yaml(kRecipe + "peft:\n  target_modules: ['*_proj']\n  dim: 16\n  alpha: 32\n");
  CHECK(test::source_words(plan, {"lora", "lora-targets"}) ==
        "16 q_proj,k_proj,v_proj,o_proj,gate_proj,up_proj,down_proj");
  CHECK(test::source_words(
            automodel_yaml(kRecipe + "peft:\n  target_modules: ['*.q_proj', '*v_proj']\n"),
            {"lora", "lora-targets"}) == "8 q_proj,v_proj");
}

TEST_CASE("automodel: recipes with a second model or pictures are refused",
          "[plan][sources][automodel]") {
  std::string text = kRecipe;
  text.replace(0, text.find('\n'), "recipe: FinetuneRecipeForVLM");
  CHECK_THROWS_WITH(automodel_yaml(text), Contains("FinetuneRecipeForVLM"));
  CHECK_THROWS_WITH(
      automodel_yaml(kRecipe + "teacher_model:\n  pretrained_model_name_or_path: a/b\n"),
      Contains("teacher_model"));
}
