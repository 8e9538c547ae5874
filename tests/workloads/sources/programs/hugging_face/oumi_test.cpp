// oumi's training files as plans. Expected values: oumi of August 2026, core/configs/params/*.py.
#include <algorithm>

#include <catch2/catch.hpp>

#include "tests/support/source_words.hpp"
#include "traces/error.hpp"
#include "workloads/sources/programs/program.hpp"
#include "workloads/sources/settings/read_settings.hpp"

using namespace highwater;
using Catch::Matchers::Contains;

namespace {

PlanSource oumi_yaml(const std::string& text) {
  return plan_of_settings(read_yaml_settings(text, "x.yaml"), "x.yaml");
}

const std::string kModel =
    "model:\n  model_name: meta-llama/Llama-3.1-8B-Instruct\n  model_max_length: 8192\n"
    "  torch_dtype_str: bfloat16\n  attn_implementation: sdpa\n";

}  // namespace

TEST_CASE("oumi: TRL's trainer with adapters", "[plan][sources][oumi]") {
  const PlanSource plan = oumi_yaml(
      kModel +
      "training:\n  trainer_type: TRL_SFT\n  use_peft: True\n  per_device_train_batch_size: 2\n"
      "  gradient_accumulation_steps: 32\n  enable_gradient_checkpointing: False\n"
      "  optimizer: adamw_torch_fused\npeft:\n  lora_r: 16\n  lora_target_modules: [q_proj, "
      "v_proj]\n");
  CHECK(test::source_words(plan,
                           {"framework", "model", "seq", "batch", "grad-accum", "checkpoint"}) ==
        "trl-sft meta-llama/Llama-3.1-8B-Instruct 8192 2 32 none");
  CHECK(test::source_words(plan, {"precision", "lora", "lora-targets", "loss", "optimizer-impl"}) ==
        "bf16 16 q_proj,v_proj hf fused");
}

TEST_CASE("oumi: the listing has the file's own keys", "[plan][sources][oumi]") {
  const PlanSource plan = oumi_yaml(kModel + "training:\n  trainer_type: HF\n");
  for (const std::string_view key : {"model.model_name", "training.trainer_type"}) {
    CHECK(std::ranges::find(plan.keys, key, &SourceKey::key) != plan.keys.end());
  }
}

TEST_CASE("oumi: FSDP1 by accelerate, flat parameters for adapters", "[plan][sources][oumi]") {
  const PlanSource plan = oumi_yaml(
      kModel +
      "training:\n  trainer_type: TRL_SFT\n  use_peft: True\n  enable_gradient_checkpointing: "
      "True\n"
      "fsdp:\n  enable_fsdp: True\n  sharding_strategy: HYBRID_SHARD\n  forward_prefetch: True\n"
      "  auto_wrap_policy: TRANSFORMER_BASED_WRAP\n  transformer_layer_cls: LlamaDecoderLayer\n");
  CHECK(test::source_words(plan, {"dp-kind", "strategy", "forward-prefetch", "use-orig-params",
                                  "checkpoint", "precision", "lora"}) ==
        "fsdp1 hybrid_shard true false full bf16 8");
}

TEST_CASE("oumi: mixed precision is told apart from the weights' type", "[plan][sources][oumi]") {
  const std::string model = "model:\n  model_name: gpt2\n  torch_dtype_str: float32\n";
  CHECK(test::source_words(oumi_yaml(model + "training:\n  trainer_type: HF\n"
                                             "  mixed_precision_dtype: BF16\n"),
                           {"framework", "precision", "batch", "optimizer"}) ==
        "trainer amp-bf16 8 adamw");
}

TEST_CASE("oumi: DeepSpeed within the file", "[plan][sources][oumi]") {
  const PlanSource plan =
      oumi_yaml(kModel +
                "training:\n  trainer_type: TRL_SFT\ndeepspeed:\n  enable_deepspeed: True\n"
                "  zero_stage: ZERO_3\n  precision: BF16\n  offload_optimizer:\n    device: CPU\n");
  CHECK(test::source_words(plan, {"dp-kind", "precision", "offload"}) == "zero3 bf16 optimizer");
}

TEST_CASE("oumi: 4 bits as the file says", "[plan][sources][oumi]") {
  const PlanSource plan =
      oumi_yaml(kModel +
                "training:\n  trainer_type: TRL_SFT\n  use_peft: True\npeft:\n  q_lora: True\n"
                "  bnb_4bit_quant_type: nf4\n  bnb_4bit_compute_dtype: bfloat16\n");
  CHECK(test::source_words(plan, {"quantize", "quant-compute-dtype", "lora"}) == "nf4 bf16 8");
}

TEST_CASE("oumi: other trainers are refused", "[plan][sources][oumi]") {
  CHECK_THROWS_WITH(oumi_yaml(kModel + "training:\n  trainer_type: TRL_DPO\n"),
                    Contains("trainer_type"));
}
