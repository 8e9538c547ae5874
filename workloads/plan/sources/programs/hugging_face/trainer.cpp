// Launch lines of scripts around transformers' Trainer, and files of their arguments: run_clm.py
// and its siblings, FastChat, Stanford Alpaca, Qwen.
//
// Sources: transformers 5.23 and its examples/pytorch/language-modeling; FastChat
// fastchat/train/train.py, train_lora.py; stanford_alpaca train.py; Qwen finetune.py.
#include <array>

#include "workloads/plan/sources/programs/hugging_face/fsdp_rules.hpp"
#include "workloads/plan/sources/programs/hugging_face/training_arguments.hpp"
#include "workloads/plan/sources/rules/program_table.hpp"

namespace highwater::program_table {
namespace {

constexpr std::array kScriptArguments{
    by_context("config_name", read_model),
    by_context("model_type", read_model_type),
    unsupported("config_overrides", "another size of the model; give a config.json with --model"),
    by_context("block_size", read_length),
    by_context("max_seq_length", read_length),
    by_context("model_max_length", read_length),
    by_context("use_lora", read_use_lora),
    by_context("lora_r", read_lora_key),
    by_context("lora_dropout", read_lora_key),
    by_context("lora_target_modules", read_lora_key),
    ignored("lora_alpha", reasons::kNumbers),
    by_context("q_lora", read_q_lora),
    by_context("load_in_4bit", read_load_in_4bit),
    by_context("load_in_8bit", read_load_in_8bit),
    by_context("bnb_4bit_*", read_bnb_key),
    becomes("use_dora", "dora"),
    unsupported("lora_bias", "biases are trained as well", "none"),
    ignored("lora_weight_path", reasons::kFiles),
    by_context("flash_attn", read_flash_flag),
    ignored("mlm_probability", reasons::kData),
    ignored("plm_probability", reasons::kData),
    ignored("max_span_length", reasons::kData),
    ignored("fim_rate", reasons::kData),
    ignored("fim_spm_rate", reasons::kData),
    ignored("fim_prefix_token", reasons::kData),
    ignored("fim_middle_token", reasons::kData),
    ignored("fim_suffix_token", reasons::kData),
    ignored("pad_to_multiple_of", reasons::kData),
    ignored("truncate_or_pad", reasons::kData),
    ignored("line_by_line", reasons::kData),
    ignored("keep_linebreaks", reasons::kData),
    ignored("dataset_name", reasons::kData),
    ignored("dataset_config_name", reasons::kData),
    ignored("train_file", reasons::kData),
    ignored("validation_file", reasons::kData),
    ignored("test_file", reasons::kData),
    ignored("data_path", reasons::kData),
    ignored("data_dir", reasons::kData),
    ignored("eval_data_path", reasons::kData),
    ignored("train_data", reasons::kData),
    ignored("eval_data", reasons::kData),
    ignored("max_train_samples", reasons::kData),
    ignored("max_eval_samples", reasons::kData),
    ignored("max_predict_samples", reasons::kData),
    ignored("streaming", reasons::kData),
    ignored("overwrite_cache", reasons::kData),
    ignored("validation_split_percentage", reasons::kData),
    ignored("preprocessing_num_workers", reasons::kData),
    ignored("lazy_preprocess", reasons::kData),
    ignored("pad_to_max_length", reasons::kData),
    ignored("fim_mean", reasons::kData),
    ignored("deepspeed_config", reasons::kWithOther),
};

constexpr auto kTrainerRules =
    joined_rules(kModelArguments, kScriptArguments, kFsdpRules, kTrainingArguments);

void finish_trainer(const SettingList& all, SourceKeys& keys) {
  offer({"(framework)", "transformers' Trainer"}, "framework", "trainer", keys);
  offer_fsdp_kind(all, keys);
}

/// run_clm_no_trainer.py and its siblings: a loop of their own with accelerate.
void finish_plain_loop(const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  offer({"(framework)", "a loop of its own"}, "framework", "hf", keys);
}

}  // namespace

const Program& trainer() {
  static constexpr std::array<std::string_view, 6> kScripts{
      "run_clm.py", "run_mlm.py", "run_plm.py", "run_fim.py", "train_mem.py", "fastchat.train.*"};
  // training_args.py; from_pretrained() takes the checkpoint's type (modeling_utils.py).
  static constexpr std::array kDefaults{ProgramDefault{"per_device_train_batch_size", "8"},
                                        ProgramDefault{"dtype", "auto"}};
  static constexpr Program kProgram{.name = "trainer",
                                    .releases = "transformers 4.29 to 5.23",
                                    .rules = kTrainerRules,
                                    .scripts = kScripts,
                                    .defaults = kDefaults,
                                    .finish = finish_trainer};
  return kProgram;
}

const Program& plain_loop() {
  static constexpr std::array<std::string_view, 1> kScripts{"run_*_no_trainer.py"};
  static constexpr std::array kDefaults{
      ProgramDefault{"per_device_train_batch_size", "8"}, ProgramDefault{"max_grad_norm", "0"},
      ProgramDefault{"optim", "adamw_torch"}, ProgramDefault{"dtype", "auto"}};
  static constexpr Program kProgram{.name = "accelerate scripts",
                                    .releases = "transformers 4.29 to 5.23",
                                    .rules = kTrainerRules,
                                    .scripts = kScripts,
                                    .defaults = kDefaults,
                                    .finish = finish_plain_loop};
  return kProgram;
}

}  // namespace highwater::program_table
