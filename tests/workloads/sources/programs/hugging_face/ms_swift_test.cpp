// ms-swift's launch lines and YAML files as plans. Expected values: ms-swift 4.5.2, its arguments
// and swift/config/zero2.json.
#include <catch2/catch.hpp>

#include "tests/support/source_words.hpp"
#include "traces/error.hpp"
#include "workloads/sources/programs/program.hpp"
#include "workloads/sources/settings/launch_line.hpp"
#include "workloads/sources/settings/read_settings.hpp"

using namespace highwater;
using Catch::Matchers::Contains;

namespace {

PlanSource swift_line(const std::string& text) {
  return plan_of_launch(read_launch_line(text, "x.sh"), "x.sh");
}

PlanSource swift_yaml(const std::string& text) {
  return plan_of_settings(read_yaml_settings(text, "x.yaml"), "x.yaml");
}

constexpr const char* kLine =
    "NPROC_PER_NODE=4 \\\nswift sft --model Qwen/Qwen3-8B --torch_dtype bfloat16 --max_length "
    "4096 ";

}  // namespace

TEST_CASE("ms-swift: LoRA under DeepSpeed by the name of its file", "[plan][sources][swift]") {
  const PlanSource plan = swift_line(std::string(kLine) +
                                     "--tuner_type lora --lora_rank 16 --target_modules all-linear "
                                     "--per_device_train_batch_size 2 --deepspeed zero2");
  CHECK(test::source_words(plan, {"framework", "model", "gpus", "batch", "seq", "dp-kind",
                                  "precision"}) == "trainer Qwen/Qwen3-8B 4 2 4096 zero2 bf16");
  CHECK(test::source_words(plan, {"lora", "lora-dropout", "lora-targets"}) ==
        "16 0.05 q_proj,k_proj,v_proj,o_proj,gate_proj,up_proj,down_proj");
  CHECK(test::source_words(plan, {"checkpoint", "checkpoint-impl", "grad-accum"}) ==
        "full reentrant 2");
}

TEST_CASE("ms-swift: ZeRO++'s second copy is read with stage 3", "[plan][sources][swift]") {
  const auto copies = [](const std::string& file) {
    return test::source_words(
        swift_line(std::string(kLine) + "--zero_hpz_partition_size 4 --deepspeed " + file),
        {"hpz-partition-size"});
  };
  CHECK(copies("zero3") == "4");
  CHECK(copies("zero2") == "-");
}

TEST_CASE("ms-swift: adapters unless told, sixteen sequences a step, autocast in the weights' type",
          "[plan][sources][swift]") {
  CHECK(test::source_words(swift_line(kLine),
                           {"lora", "batch", "grad-accum", "precision", "checkpoint-impl"}) ==
        "8 1 4 bf16+amp nonreentrant");
  CHECK(test::source_words(swift_line("swift sft --model Qwen/Qwen2.5-7B --train_type full "
                                      "--torch_dtype float32 --per_device_train_batch_size 32"),
                           {"lora", "gpus", "grad-accum", "precision", "checkpoint-impl"}) ==
        "- - 1 amp-fp16 reentrant");
}

TEST_CASE("ms-swift: a YAML file with variables, and names of release 2",
          "[plan][sources][swift]") {
  const PlanSource yaml = swift_yaml(
      "ENV:\n  NPROC_PER_NODE: 8\nmodel: Qwen/Qwen2.5-7B-Instruct\ntuner_type: lora\n"
      "deepspeed: zero3\nmax_length: 2048\nmodel_name: swift-robot\ngradient_accumulation_steps: "
      "8\n");
  CHECK(test::source_words(yaml, {"model", "gpus", "dp-kind", "zero-init", "grad-accum"}) ==
        "Qwen/Qwen2.5-7B-Instruct 8 zero3 true 8");
  const PlanSource old = swift_line(
      "swift sft --model_id_or_path qwen/Qwen2-7B-Instruct --sft_type lora --batch_size 2 "
      "--dtype bf16 --lora_target_modules q_proj v_proj --deepspeed default-zero2");
  CHECK(test::source_words(old, {"model", "batch", "lora-targets", "dp-kind", "precision"}) ==
        "qwen/Qwen2-7B-Instruct 2 q_proj,v_proj zero2 bf16");
}

TEST_CASE("ms-swift: model_name, a name for the chatbot, does not select the model",
          "[plan][sources][swift]") {
  const PlanSource plan = swift_line(std::string(kLine) + "--model_name swift-robot");
  CHECK(test::source_words(plan, {"model"}) == "Qwen/Qwen3-8B");
}

TEST_CASE("ms-swift: other commands, tasks and tuners are refused", "[plan][sources][swift]") {
  CHECK_THROWS_WITH(swift_line("swift rlhf --rlhf_type dpo --model Qwen/Qwen3-8B"),
                    Contains("swift sft"));
  CHECK_THROWS_WITH(swift_line("megatron sft --model Qwen/Qwen3-8B --tensor_model_parallel_size 2"),
                    Contains("Megatron"));
  CHECK_THROWS_WITH(swift_line(std::string(kLine) + "--task_type seq_cls"), Contains("task_type"));
  CHECK_THROWS_WITH(swift_line(std::string(kLine) + "--tuner_type llamapro"),
                    Contains("tuner_type"));
}

TEST_CASE("ms-swift: one process over several GPUs is said", "[plan][sources][swift]") {
  const PlanSource plan =
      swift_line("CUDA_VISIBLE_DEVICES=0,1 swift sft --model Qwen/Qwen3-8B --max_length 2048");
  const auto found = std::ranges::find(plan.keys, "ENV.CUDA_VISIBLE_DEVICES", &SourceKey::key);
  REQUIRE(found != plan.keys.end());
  CHECK(found->fate == KeyFate::not_supported);
}
