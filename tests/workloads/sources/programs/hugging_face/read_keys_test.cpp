// Keys that a program reads only beside another one, as its own parser does.
#include <algorithm>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "workloads/sources/combined_words.hpp"
#include "workloads/sources/programs/program.hpp"
#include "workloads/sources/settings/launch_line.hpp"
#include "workloads/sources/settings/read_settings.hpp"

using namespace highwater;
using Catch::Matchers::Contains;

namespace {

PlanSource file_of(const std::string& text) {
  return plan_of_settings(read_yaml_settings(text, "x.yaml"), "x.yaml");
}

std::string option_of(const PlanSource& source, std::string_view option) {
  std::string found = "-";
  for (const OptionWord& each : source.words) {
    found = each.first == option ? each.second : found;
  }
  return found;
}

const SourceKey& row_of(const PlanSource& source, std::string_view key) {
  const auto found = std::ranges::find(source.keys, key, &SourceKey::key);
  REQUIRE(found != source.keys.end());
  return *found;
}

const std::string kAccelerate = "compute_environment: LOCAL_MACHINE\nnum_processes: 4\n";
const std::string kDeepSpeed = "deepspeed_config:\n  zero_stage: 3\n  offload_param_device: cpu\n";
const std::string kFsdp = "fsdp_config:\n  fsdp_version: 2\n  fsdp_offload_params: true\n";

}  // namespace

// accelerate 1.15, commands/launch.py _validate_launch_command(): use_deepspeed and use_fsdp follow
// from distributed_type, and launch_command() asks for these.
TEST_CASE("accelerate: distributed_type says which section is read", "[plan][sources]") {
  const PlanSource plain =
      file_of(kAccelerate + "distributed_type: MULTI_GPU\n" + kDeepSpeed + kFsdp);
  CHECK(option_of(plain, "dp-kind") == "ddp");
  CHECK(option_of(plain, "offload") == "-");
  CHECK(row_of(plain, "deepspeed_config.zero_stage").fate == KeyFate::no_effect);
  CHECK_THAT(row_of(plain, "fsdp_config.fsdp_version").meaning,
             Contains("read with distributed_type FSDP only"));
  const PlanSource sharded = file_of(kAccelerate + "distributed_type: FSDP\n" + kDeepSpeed + kFsdp);
  CHECK(option_of(sharded, "dp-kind") == "fsdp2");
  const PlanSource zero =
      file_of(kAccelerate + "distributed_type: DEEPSPEED\n" + kDeepSpeed + kFsdp);
  CHECK(option_of(zero, "dp-kind") == "zero3");
}

// axolotl 0.19, utils/schemas/training.py: gradient_accumulation_steps is 1 by default, and
// utils/config/__init__.py normalize_config() divides batch_size only where it is null.
TEST_CASE("axolotl: batch_size counts where accumulation is null", "[plan][sources]") {
  const std::string head =
      "base_model: gpt2\nsequence_len: 64\nbatch_size: 8\nmicro_batch_size: 2\n";
  CHECK(option_of(file_of(head), "grad-accum") == "-");
  CHECK(option_of(file_of(head + "gradient_accumulation_steps:\n"), "grad-accum") == "4");
}

// DeepSpeed 0.19, runtime/config.py _set_batch_related_parameters(): without accumulation in the
// file it is train_batch_size over micro batch and ranks.
TEST_CASE("deepspeed: accumulation is what the ranks leave of a batch", "[plan][sources]") {
  const PlanSource file = plan_of_settings(
      read_json_settings(R"({"train_batch_size": 256, "train_micro_batch_size_per_gpu": 16})",
                         "ds.json"),
      "ds.json");
  const auto combined = [](const std::vector<PlanSource>& sources, const OptionWords& given) {
    const OptionWords words = combined_words(sources, given);
    const auto text = [&](std::string_view option) {
      const std::string* const found = find_word(words, option);
      return found == nullptr ? std::string("1") : *found;
    };
    return text("dp") + " " + text("grad-accum");
  };
  CHECK(combined({file}, {}) == "16 1");
  CHECK(combined({file}, {{"dp", "8"}}) == "16 2");  // what is given wins over the file's 16
  PlanSource launcher;
  launcher.words = {{"gpus", "4"}};
  CHECK(combined({launcher, file}, {}) == "4 4");
}

// LLaMA-Factory 0.9.5, hparams/parser.py: pure_bf16 turns no autocast off.
TEST_CASE("llamafactory: pure_bf16 beside bf16 is autocast over bf16", "[plan][sources]") {
  const std::string head =
      "model_name_or_path: Qwen/Qwen2.5-0.5B\nstage: sft\ndo_train: true\nfinetuning_type: full\n"
      "template: qwen\npure_bf16: true\n";
  CHECK(option_of(file_of(head), "precision") == "bf16");
  CHECK(option_of(file_of(head + "bf16: true\n"), "precision") == "bf16+amp");
}

TEST_CASE("axolotl: adapters without a rank are said to be none", "[plan][sources]") {
  const PlanSource plan = file_of("base_model: gpt2\nsequence_len: 64\nadapter: lora\n");
  CHECK(row_of(plan, "adapter").fate == KeyFate::not_supported);
  CHECK(row_of(plan, "adapter").lacks == "lora");
}

// LLaMA-Factory 0.9.5, model/model_utils/checkpointing.py: on unless disable_gradient_checkpointing
// says no; transformers 5.6, trainer.py _inner_training_loop: on if gradient_checkpointing says so,
// and never off.
TEST_CASE("llamafactory: gradient_checkpointing turns on, never off", "[plan][sources]") {
  const std::string head =
      "model_name_or_path: Qwen/Qwen2.5-0.5B\nstage: sft\ndo_train: true\nfinetuning_type: full\n"
      "template: qwen\n";
  const std::string off = "disable_gradient_checkpointing: true\n";
  CHECK(option_of(file_of(head + "gradient_checkpointing: false\n"), "checkpoint") == "full");
  CHECK(option_of(file_of(head + off), "checkpoint") == "none");
  CHECK(option_of(file_of(head + off + "gradient_checkpointing: true\n"), "checkpoint") == "full");
  CHECK(option_of(file_of(head + "gradient_checkpointing: true\n" + off), "checkpoint") == "full");
}

// axolotl 0.19, utils/schemas/validation.py check_fsdp_config_kwargs_prefix(): one key, the last
// one counts.
TEST_CASE("axolotl: an FSDP key with its prefix and one without are one key", "[plan][sources]") {
  const std::string head =
      "base_model: gpt2\nsequence_len: 64\nfsdp_config:\n  fsdp_auto_wrap_policy: "
      "TRANSFORMER_BASED_WRAP\n";
  const std::string with = "  fsdp_offload_params: true\n";
  const std::string without = "  offload_params: false\n";
  CHECK(option_of(file_of(head + with), "offload") == "both");
  CHECK(option_of(file_of(head + with + without), "offload") == "-");
  CHECK(option_of(file_of(head + without + with), "offload") == "both");
  CHECK(row_of(file_of(head + with + without), "fsdp_config.fsdp_offload_params").fate ==
        KeyFate::no_effect);
}

// transformers 5.24, training_args.py _process_fsdp_args(): the key with the prefix is moved onto
// the one without.
TEST_CASE("Trainer: an FSDP key with its prefix counts, wherever it stands", "[plan][sources]") {
  const auto reshard = [](const std::string& keys) {
    const std::string line =
        "torchrun --nproc_per_node 4 run_clm.py --model_name_or_path gpt2 --fsdp full_shard "
        "--fsdp_config '{" +
        keys + "}'";
    return option_of(plan_of_launch(read_launch_line(line, "x.sh"), "x.sh"), "reshard");
  };
  CHECK(reshard(R"("fsdp_reshard_after_forward": false, "reshard_after_forward": true)") ==
        "never");
  CHECK(reshard(R"("reshard_after_forward": true, "fsdp_reshard_after_forward": false)") ==
        "never");
}

// transformers 5.24, integrations/deepspeed.py trainer_config_process(): what "auto" stands for is
// not in the file.
TEST_CASE("deepspeed: a type that Trainer fills in is not known from the file alone",
          "[plan][sources]") {
  const std::string text =
      R"({"bf16": {"enabled": "auto"}, "zero_optimization": {"stage": 2},
          "train_micro_batch_size_per_gpu": "auto"})";
  const PlanSource file = plan_of_settings(read_json_settings(text, "x.json"), "x.json");
  CHECK(row_of(file, "bf16.enabled").fate == KeyFate::not_supported);
  CHECK(row_of(file, "bf16.enabled").lacks == "precision");
}

TEST_CASE("trainer: weight decay takes memory where an optimizer adds it to the gradient",
          "[plan][sources]") {
  const auto decay = [](const std::string& options) {
    const LaunchLine line =
        read_launch_line("torchrun run_clm.py --model_name_or_path gpt2 " + options, "line");
    return row_of(plan_of_launch(line, find_program(line), "line"), "weight_decay");
  };
  for (const char* optimizer : {"sgd", "rmsprop", "adagrad"}) {
    CAPTURE(optimizer);
    const SourceKey key = decay(std::string("--weight_decay 0.1 --optim ") + optimizer);
    CHECK(key.fate == KeyFate::not_supported);
    CHECK(key.sign == MemorySign::more);
  }
  CHECK(decay("--weight_decay 0.0 --optim sgd").fate == KeyFate::no_effect);
  CHECK(decay("--weight_decay 0.1 --optim adamw_torch").fate == KeyFate::no_effect);
  CHECK(decay("--weight_decay 0.1").fate == KeyFate::no_effect);
}

// axolotl of July 2026, loaders/model.py: BitsAndBytesConfig for adapter qlora alone, and fp32 of
// all 16-bit weights by PEFT's preparation. moeru-ai/Moeru-Llama-3-8B lora.yml was simulated in 4
// bits.
TEST_CASE("axolotl: weights in 4 bits come with adapter qlora", "[plan][sources]") {
  const auto file = [](const std::string& adapter) {
    return file_of(
        "base_model: meta-llama/Llama-2-7b\nload_in_4bit: true\nlora_r: 16\nbf16: true\n"
        "adapter: " +
        adapter + "\n");
  };
  CHECK(option_of(file("qlora"), "quantize") == "nf4");
  CHECK(option_of(file("qlora"), "precision") == "bf16+amp");
  const PlanSource lora = file("lora");
  CHECK(option_of(lora, "quantize") == "-");
  CHECK(option_of(lora, "precision") == "amp-bf16");
  CHECK(row_of(lora, "load_in_4bit").sign == MemorySign::less);
}

// accelerate 1.15, utils/dataclasses.py set_mixed_precision: the type is the program's own where
// the file has no section for it. chats-bug/jsr-config deep_config.json was simulated in fp32.
TEST_CASE("DeepSpeed: a file that its program fills in leaves the type open", "[plan][sources]") {
  const std::string file =
      "zero_optimization:\n  stage: 2\noptimizer:\n  type: AdamW\ntrain_batch_size: ";
  CHECK(row_of(file_of(file + "auto\n"), "(precision)").lacks == "precision");
  const PlanSource own = file_of(file + "8\ntrain_micro_batch_size_per_gpu: 1\n");
  CHECK(std::ranges::find(own.keys, "(precision)", &SourceKey::key) == own.keys.end());
  const PlanSource told = file_of(file + "auto\nbf16:\n  enabled: true\n");
  CHECK(std::ranges::find(told.keys, "(precision)", &SourceKey::key) == told.keys.end());
}

// yuhkalhic/AI4MED examples/train_qlora/llama3_lora_sft_aqlm.yaml: two bits were 16 without a word.
TEST_CASE("models: copies that another library has quantised are told", "[plan][sources]") {
  const auto file = [](const std::string& model) {
    return file_of(
        "stage: sft\ndo_train: true\nfinetuning_type: lora\ntemplate: a\ndataset: b\n"
        "output_dir: c\nmodel_name_or_path: " +
        model + "\n");
  };
  const auto is_told = [](const PlanSource& source) {
    return std::ranges::any_of(source.keys, [](const SourceKey& key) {
      return key.key == "model_name_or_path" && key.fate == KeyFate::not_supported &&
             key.sign == MemorySign::less;
    });
  };
  CHECK(is_told(file("ISTA-DASLab/Meta-Llama-3-8B-Instruct-AQLM-2Bit-1x16")));
  CHECK(is_told(file("TechxGenus/Meta-Llama-3-8B-Instruct-GPTQ")));
  CHECK_FALSE(is_told(file("meta-llama/Meta-Llama-3-8B-Instruct")));
}
