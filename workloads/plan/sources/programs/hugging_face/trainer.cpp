// Launch lines of scripts around transformers' Trainer, and files of their arguments: run_clm.py
// and its siblings, FastChat, Stanford Alpaca, Qwen.
//
// Sources: transformers 5.23 and its examples/pytorch/language-modeling; FastChat
// fastchat/train/train.py, train_lora.py; stanford_alpaca train.py; Qwen finetune.py.
#include <array>

#include "workloads/plan/sources/programs/hugging_face/fsdp_rules.hpp"
#include "workloads/plan/sources/programs/hugging_face/settings_facts.hpp"
#include "workloads/plan/sources/programs/hugging_face/training_arguments.hpp"
#include "workloads/plan/sources/rules/program_table.hpp"

namespace highwater::program_table {
namespace {

/// Of one GPU, where the script does not say per_device_train_batch_size as well.
void read_micro_batch(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const Setting* const own = first_like(all, "per_device_train_batch_size");
  if (own != nullptr && !own->is_default) {
    keys.add_no_effect(setting.key, setting.value, "read beside per_device_train_batch_size");
  } else {
    offer_whole(setting, "batch", keys);
  }
}

constexpr std::string_view kImages = "read of models that see only";

/// A script with a rank and no switch has adapters alone (FastChat's train_lora.py).
void read_script_lora(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const bool has_switch =
      text_of(all, {"use_lora", "use_peft*", "lora_enable", "low_rank_training"}).has_value();
  SettingList with_switch = all;
  if (!has_switch && text_of(all, {"lora_r", "lora_rank"})) {
    with_switch.add({.key = "use_lora", .value = "true", .kind = SettingKind::boolean});
  }
  read_lora_key(setting, with_switch, keys);
}

constexpr std::array kScriptArguments{
    by_context("config_name", read_model),
    by_context("model_type", read_model_type),
    unsupported("config_overrides", "another size of the model; give a config.json with --model"),
    by_context("block_size", read_length),
    by_context("max_seq_length", read_length),
    by_context("model_max_length", read_length),
    by_context("use_lora", read_use_lora),
    by_context("lora_r", read_script_lora),
    by_context("lora_dropout", read_script_lora),
    by_context("lora_target_modules", read_script_lora),
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
    ignored("with_tracking", reasons::kReports),
    ignored("checkpointing_steps", reasons::kFiles),
    ignored("use_slow_tokenizer", reasons::kTokenizer),
    ignored("num_warmup_steps", reasons::kNumbers),
};

/// What people call the same in scripts of their own around Trainer. They are a row of their own,
/// since many of these names are other programs' as well.
constexpr std::array kOwnScriptArguments{
    by_context("model_id", read_model),
    by_context("model_name", read_model),
    by_context("base_model", read_model),
    by_context("base_model_name", read_model),
    by_context("base_model_name_or_path", read_model),
    by_context("model_path", read_model),
    by_context("micro_batch_size", read_micro_batch),
    by_context("batch_size", read_micro_batch),
    by_context("per_device_batch_size", read_micro_batch),
    by_context("max_length", read_length),
    by_context("max_seq_len", read_length),
    by_context("model_max_seq_length", read_length),
    by_context("lora_rank", read_script_lora),
    by_context("target_modules", read_script_lora),
    by_context("lora_target", read_script_lora),
    by_context("lora_targets", read_script_lora),
    by_context("lora_enable", read_use_lora),
    by_context("use_peft", read_use_lora),
    by_context("use_peft_lora", read_use_lora),
    by_context("use_4bit", read_load_in_4bit),
    by_context("use_4bit_quantization", read_load_in_4bit),
    by_context("use_8bit", read_load_in_8bit),
    by_context("use_8bit_quantization", read_load_in_8bit),
    by_context("bits", read_bits),
    by_context("load_in_bits", read_bits),
    by_context("load_in_kbits", read_bits),
    by_context("double_quant", read_bnb_key),
    by_context("use_nested_quant", read_bnb_key),
    by_context("use_bnb_nested_quant", read_bnb_key),
    ignored("quant_type", "read with weights in 4 bits"),
    by_context("use_reentrant", read_reentrant),
    unsupported("packing", "texts of a row may be kept apart; simulated as full rows"),
    unsupported("use_unsloth", "Unsloth replaces layers and keeps less"),
    by_context("use_flash_attn", read_flash_flag),
    by_context("use_flash_attention", read_flash_flag),
    by_context("use_flash_attention_2", read_flash_flag),
    ignored("dataset_path", reasons::kData),
    ignored("dataset_text_field", reasons::kData),
    ignored("dataset_split", reasons::kData),
    ignored("result_path", reasons::kFiles),
    ignored("checkpoint_dir", reasons::kFiles),
    ignored("data_mixture", reasons::kData),
    ignored("num_train", reasons::kData),
    ignored("num_eval", reasons::kData),
    ignored("num_epochs", reasons::kDuration),
    ignored("dataset_dir", reasons::kData),
    ignored("dataset_id*", reasons::kData),
    ignored("data_cache_dir", reasons::kData),
    ignored("data_length", reasons::kData),
    ignored("*_data_path", reasons::kData),
    ignored("train_file*", reasons::kData),
    ignored("validation_file*", reasons::kData),
    ignored("train_dataset*", reasons::kData),
    ignored("eval_dataset*", reasons::kData),
    ignored("validation_dataset*", reasons::kData),
    ignored("data_files", reasons::kData),
    ignored("dataset", reasons::kData),
    ignored("dataset_format", reasons::kData),
    ignored("tokenize_num_workers", reasons::kData),
    ignored("test_size", reasons::kData),
    ignored("splits", reasons::kData),
    ignored("add_special_tokens", reasons::kData),
    ignored("append_concat_token", reasons::kData),
    ignored("template*", reasons::kTokenizer),
    ignored("tool_format", reasons::kTokenizer),
    ignored("prompt_template*", reasons::kTokenizer),
    ignored("dialogue_template", reasons::kTokenizer),
    ignored("chat_template*", reasons::kTokenizer),
    ignored("image_folder", reasons::kData),
    ignored("max_source_length", reasons::kData),
    ignored("max_target_length", reasons::kData),
    ignored("target_column", reasons::kData),
    ignored("text_column", reasons::kData),
    ignored("conversation_template", reasons::kData),
    ignored("disable_group_texts", reasons::kData),
    ignored("subset", reasons::kData),
    ignored("split", reasons::kData),
    ignored("num_proc", reasons::kData),
    ignored("output_model_name", reasons::kNames),
    ignored("task_name", reasons::kNames),
    unsupported("modules_to_save", "modules that are trained whole beside the adapters"),
    unsupported("use_lisa", "LISA trains a few layers at a time", "0"),
    ignored("lisa_*", reasons::kWithOther),
    unsupported("low_rank_training", "LongLoRA's adapters beside trained norms and embeddings",
                "False"),
    unsupported("vision_tower", "an image encoder beside the decoder"),
    ignored("mm_*", kImages),
    ignored("pretrain_mm_mlp_adapter", kImages),
    ignored("tune_mm_mlp_adapter", kImages),
    ignored("image_aspect_ratio", kImages),
    ignored("group_by_modality_length", reasons::kData),
    ignored("version", reasons::kData),
};

constexpr auto kTrainerRules =
    joined_rules(kModelArguments, kScriptArguments, kFsdpRules, kTrainingArguments);

constexpr auto kOwnScriptRules = joined_rules(kModelArguments, kScriptArguments,
                                              kOwnScriptArguments, kFsdpRules, kTrainingArguments);

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
                                    .releases = "transformers 4.29 to 5.24",
                                    .rules = kTrainerRules,
                                    .scripts = kScripts,
                                    .defaults = kDefaults,
                                    .finish = finish_trainer};
  return kProgram;
}

const Program& own_scripts() {
  static constexpr std::array<std::string_view, 2> kScripts{"train_lora.py", "finetune.py"};
  static constexpr std::array kDefaults{ProgramDefault{"per_device_train_batch_size", "8"},
                                        ProgramDefault{"dtype", "auto"}};
  static constexpr Program kProgram{.name = "scripts around Trainer",
                                    .releases = "transformers 4.29 to 5.24",
                                    .rules = kOwnScriptRules,
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
                                    .releases = "transformers 4.29 to 5.24",
                                    .rules = kTrainerRules,
                                    .scripts = kScripts,
                                    .defaults = kDefaults,
                                    .finish = finish_plain_loop};
  return kProgram;
}

}  // namespace highwater::program_table
