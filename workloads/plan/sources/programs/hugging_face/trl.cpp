// TRL's supervised fine-tuning: `trl sft`, sft.py, YAML files of `trl sft --config`, recipes of the
// alignment handbook, PEFT's examples/sft. TRL's other trainers are refused.
//
// Source: TRL 1.16 trainer/sft_config.py, base_config.py, model_config.py, sft_trainer.py,
// scripts/utils.py.
#include <algorithm>
#include <array>

#include "traces/error.hpp"
#include "workloads/plan/sources/configuration_file.hpp"
#include "workloads/plan/sources/programs/hugging_face/fsdp_rules.hpp"
#include "workloads/plan/sources/programs/hugging_face/settings_facts.hpp"
#include "workloads/plan/sources/programs/hugging_face/training_arguments.hpp"
#include "workloads/plan/sources/rules/program_table.hpp"
#include "workloads/plan/sources/settings/read_settings.hpp"

namespace highwater::program_table {
namespace {

[[noreturn]] void refuse_other_trainer(const std::string& where) {
  throw InputError(
      "", where,
      "only supervised fine-tuning is simulated, and this is of another trainer, with a "
      "second model or text that it makes",
      "record the run instead (highwater record), or give --model and options for what "
      "the trained model alone takes");
}

void read_trl_loss(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  if (setting.kind == SettingKind::null || setting.value == "chunked_nll") {
    keys.add_no_effect(setting.key, setting.value, "the default here as well");
  } else if (setting.value == "nll") {
    offer(setting, "loss", "hf", keys);
  } else if (setting.value == "dft") {
    keys.add_not_supported(setting.key, setting.value, "a few more numbers for each word");
  } else {
    refuse_other_trainer(setting.key + " " + setting.value);
  }
}

/// sft_trainer.py: bfd packing is padding-free, so a batch is one row; wrapped packing cuts rows.
void read_packing(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const bool is_wrapped = text_of(all, {"packing_strategy"}).value_or("bfd") == "wrapped";
  if (says_no(setting)) {
    note_off(setting, keys);
  } else if (is_wrapped && is_same_key(setting.key, "packing")) {
    keys.add_no_effect(setting.key, setting.value, "rows are full, as they are here");
  } else {
    keys.add_not_supported(setting.key, setting.value,
                           "a batch becomes one row with positions of each text; simulated as rows "
                           "of the longest length");
  }
}

/// TRL makes no logits with Liger either (sft_trainer.py compute_loss).
void read_trl_liger(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  if (says_no(setting)) {
    note_off(setting, keys);
  } else {
    keys.add_not_supported(setting.key, setting.value,
                           "Liger's norms and gates, which keep less than is simulated");
  }
}

void read_init_kwargs(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  if (says_no(setting)) {
    note_off(setting, keys);
  } else {
    keys.add_not_supported(setting.key, setting.value,
                           "arguments as text; give --precision and --attention");
  }
}

/// trl 1.16, accelerate_configs/NAME.yaml: eight processes each.
void read_trl_strategy(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const std::string& name = setting.value;
  const std::string kind = name == "multi_gpu" ? "ddp" : name;
  if (name == "single_gpu") {
    return keys.add_no_effect(setting.key, name, "one process");
  }
  offer(setting, "dp-kind", kind, keys);
  if (first_like(all, "num_processes") == nullptr) {
    offer(setting, "gpus", "8", keys);
  }
}

void read_trl_processes(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  offer_whole(setting, "gpus", keys);
}

void read_trl_file(const Setting& setting, const SettingList& all, SourceKeys& keys);

constexpr std::array kTrlArguments{
    by_context("max_length", read_length),
    by_context("max_seq_length", read_length),
    by_context("max_seq_len", read_length),
    by_context("model_max_length", read_length),
    by_context("model_name", read_model),
    by_context("packing", read_packing),
    by_context("padding_free", read_packing),
    ignored("packing_strategy", reasons::kWithOther),
    ignored("eval_packing", reasons::kWithOther),
    by_context("gradient_checkpointing", read_checkpointing),
    by_context("use_peft", read_use_lora),
    by_context("use_peft_lora", read_use_lora),
    by_context("lora_r", read_lora_key),
    by_context("lora_dropout", read_lora_key),
    by_context("lora_target_modules", read_lora_key),
    ignored("lora_alpha", reasons::kNumbers),
    ignored("lora_task_type", reasons::kNumbers),
    ignored("use_rslora", reasons::kNumbers),
    unsupported("lora_target_parameters", "adapters of parameters that are no module"),
    unsupported("lora_modules_to_save", "modules that are trained whole beside the adapters"),
    becomes("use_dora", "dora"),
    by_context("load_in_4bit", read_load_in_4bit),
    by_context("use_4bit_quantization", read_load_in_4bit),
    by_context("load_in_8bit", read_load_in_8bit),
    by_context("use_8bit_quantization", read_load_in_8bit),
    by_context("bnb_4bit_*", read_bnb_key),
    by_context("use_bnb_nested_quant", read_bnb_key),
    by_context("use_nested_quant", read_bnb_key),
    by_context("loss_type", read_trl_loss),
    unsupported("activation_offloading",
                "activations go to the host on a stream of their own (TRL's OffloadActivations)"),
    by_context("use_liger_kernel", read_trl_liger),
    by_context("model_init_kwargs", read_init_kwargs),
    by_context("model_init_kwargs.dtype", read_dtype),
    by_context("model_init_kwargs.torch_dtype", read_dtype),
    by_context("model_init_kwargs.attn_implementation", read_attention),
    unsupported("model_init_kwargs.use_kernels",
                "kernels of the hub instead of transformers' own layers"),
    by_context("model_init_kwargs.quantization_config.load_in_4bit", read_load_in_4bit),
    by_context("model_init_kwargs.quantization_config.load_in_8bit", read_load_in_8bit),
    by_context("model_init_kwargs.quantization_config.bnb_4bit_*", read_bnb_key),
    unsupported("model_init_kwargs.quantization_config.*", "the weights are quantised"),
    ignored("model_init_kwargs.revision", reasons::kNames),
    ignored("model_init_kwargs.trust_remote_code", reasons::kNames),
    ignored("model_init_kwargs.*", reasons::kNames),
    unsupported("router_aux_loss_coef", "the router's logits are kept for its own loss", "0|0.0"),
    unsupported("chat_template_path", "new words may add rows to the embedding"),
    unsupported("train_from_scratch", "weights are made, not read"),
    by_context("beta", read_other_trainer),
    by_context("max_prompt_length", read_other_trainer),
    by_context("ref_model_name_or_path", read_other_trainer),
    by_context("precompute_ref_log_probs", read_other_trainer),
    by_context("f_divergence_type", read_other_trainer),
    by_context("sync_ref_model", read_other_trainer),
    by_context("ld_alpha", read_other_trainer),
    by_context("use_weighting", read_other_trainer),
    by_context("discopop_tau", read_other_trainer),
    by_context("rpo_alpha", read_other_trainer),
    by_context("reference_free", read_other_trainer),
    by_context("generate_during_eval", read_other_trainer),
    by_context("dpo_alpha", read_other_trainer),
    by_context("label_pad_token_id", read_other_trainer),
    by_context("reward_funcs", read_other_trainer),
    by_context("reward_model_path", read_other_trainer),
    by_context("reward_model_name_or_path", read_other_trainer),
    by_context("num_generations", read_other_trainer),
    by_context("max_completion_length", read_other_trainer),
    by_context("num_ppo_epochs", read_other_trainer),
    by_context("desirable_weight", read_other_trainer),
    by_context("undesirable_weight", read_other_trainer),
    by_context("cpo_alpha", read_other_trainer),
    by_context("simpo_gamma", read_other_trainer),
    by_context("orpo_alpha", read_other_trainer),
    by_context("teacher_model_name_or_path", read_other_trainer),
    by_context("total_episodes", read_other_trainer),
    by_context("sft_model_path", read_other_trainer),
    by_context("tpo_alpha", read_other_trainer),
    by_context("center_rewards_coefficient", read_other_trainer),
    by_context("missing_eos_penalty", read_other_trainer),
    by_context("judge", read_other_trainer),
    by_context("lmbda", read_other_trainer),
    by_context("seq_kd", read_other_trainer),
    by_context("teacher_model_kind", read_other_trainer),
    ignored("ref_model_*", reasons::kWithOther),
    ignored("ref_adapter_name", reasons::kWithOther),
    ignored("force_use_ref_model", reasons::kWithOther),
    ignored("truncation_mode", reasons::kWithOther),
    ignored("loss_weights", reasons::kWithOther),
    ignored("f_alpha_divergence_coef", reasons::kWithOther),
    ignored("label_smoothing", reasons::kWithOther),
    ignored("precompute_ref_batch_size", reasons::kWithOther),
    ignored("max_target_length", reasons::kWithOther),
    ignored("disable_dropout", reasons::kWithOther),
    ignored("is_encoder_decoder", reasons::kWithOther),
    ignored("padding_value", reasons::kWithOther),
    ignored("vllm_*", reasons::kInference),
    ignored("use_vllm", reasons::kInference),
    ignored("temperature", reasons::kInference),
    ignored("top_p", reasons::kInference),
    ignored("top_k", reasons::kInference),
    ignored("min_p", reasons::kInference),
    ignored("repetition_penalty", reasons::kInference),
    ignored("generation_kwargs", reasons::kInference),
    ignored("cache_implementation", reasons::kInference),
    ignored("num_generations_eval", reasons::kInference),
    ignored("generation_batch_size", reasons::kInference),
    ignored("steps_per_generation", reasons::kInference),
    ignored("max_new_tokens", reasons::kInference),
    ignored("response_length", reasons::kInference),
    ignored("stop_token", reasons::kInference),
    ignored("stop_token_id", reasons::kInference),
    ignored("use_transformers_*", reasons::kInference),
    ignored("transformers_*", reasons::kInference),
    ignored("local_rollout_forward_batch_size", reasons::kInference),
    ignored("chat_template_kwargs", reasons::kInference),
    ignored("max_tool_calling_iterations", reasons::kInference),
    ignored("num_iterations", reasons::kWithOther),
    ignored("num_mini_batches", reasons::kWithOther),
    ignored("epsilon", reasons::kWithOther),
    ignored("epsilon_high", reasons::kWithOther),
    ignored("delta", reasons::kWithOther),
    ignored("importance_sampling_level", reasons::kWithOther),
    ignored("reward_weights", reasons::kWithOther),
    ignored("scale_rewards", reasons::kWithOther),
    ignored("mask_truncated_completions", reasons::kWithOther),
    ignored("top_entropy_quantile", reasons::kWithOther),
    ignored("entropy_*", reasons::kWithOther),
    ignored("use_adaptive_entropy", reasons::kWithOther),
    ignored("multi_objective_aggregation", reasons::kWithOther),
    ignored("off_policy_mask_threshold", reasons::kWithOther),
    ignored("use_bias_correction_kl", reasons::kWithOther),
    ignored("sapo_*", reasons::kWithOther),
    ignored("vespo_*", reasons::kWithOther),
    ignored("whiten_rewards", reasons::kWithOther),
    ignored("kl_coef", reasons::kWithOther),
    ignored("kl_estimator", reasons::kWithOther),
    ignored("cliprange*", reasons::kWithOther),
    ignored("vf_coef", reasons::kWithOther),
    ignored("gamma", reasons::kWithOther),
    ignored("lam", reasons::kWithOther),
    ignored("exp_name", reasons::kWithOther),
    ignored("teacher_*", reasons::kWithOther),
    ignored("distillation_*", reasons::kWithOther),
    ignored("tpo_l_gamma", reasons::kWithOther),
    ignored("normalize_advantages", reasons::kWithOther),
    ignored("reward_clip_range", reasons::kWithOther),
    ignored("alpha", reasons::kWithOther),
    ignored("num_sample_generations", reasons::kWithOther),
    ignored("ds3_gather_for_generation", reasons::kWithOther),
    ignored("cast_lm_head_to_fp32", reasons::kWithOther),
    ignored("num_completions_to_print", reasons::kWithOther),
    ignored("uld_*", reasons::kWithOther),
    ignored("use_uld_loss", reasons::kWithOther),
    ignored("step_separator", reasons::kWithOther),
    ignored("train_on_last_step_only", reasons::kWithOther),
    ignored("prompt_sample_size", reasons::kWithOther),
    ignored("min_density_ratio", reasons::kWithOther),
    ignored("max_density_ratio", reasons::kWithOther),
    ignored("log_completions", reasons::kWithOther),
    ignored("log_*", reasons::kWithOther),
    ignored("wandb_log_unique_prompts", reasons::kWithOther),
    ignored("dataset_name", reasons::kData),
    ignored("dataset_config", reasons::kData),
    ignored("dataset_train_split", reasons::kData),
    ignored("dataset_test_split", reasons::kData),
    ignored("dataset_streaming", reasons::kData),
    ignored("dataset_text_field", reasons::kData),
    ignored("dataset_kwargs", reasons::kData),
    ignored("dataset_kwargs.*", reasons::kData),
    ignored("dataset_num_proc", reasons::kData),
    ignored("dataset_batch_size", reasons::kData),
    ignored("dataset_mixer.*", reasons::kData),
    ignored("dataset_mixture.*", reasons::kData),
    ignored("dataset_splits", reasons::kData),
    ignored("dataset_configs", reasons::kData),
    ignored("datasets", reasons::kData),
    ignored("datasets.*", reasons::kData),
    ignored("streaming", reasons::kData),
    ignored("test_split_size", reasons::kData),
    ignored("columns", reasons::kData),
    ignored("shuffle_dataset", reasons::kData),
    ignored("pad_to_multiple_of", reasons::kData),
    ignored("assistant_only_loss", reasons::kData),
    ignored("completion_only_loss", reasons::kData),
    ignored("num_of_sequences", reasons::kData),
    ignored("chars_per_token", reasons::kData),
    ignored("preprocessing_num_workers", reasons::kData),
    ignored("text_column", reasons::kData),
    ignored("auto_insert_empty_system_msg", reasons::kData),
    ignored("splits", reasons::kData),
    ignored("add_special_tokens", reasons::kData),
    ignored("append_concat_token", reasons::kData),
    ignored("max_train_samples", reasons::kData),
    ignored("skip_prepare_dataset", reasons::kData),
    ignored("num_samples_*", reasons::kData),
    ignored("reward_prompt", reasons::kData),
    ignored("dataset_sample", reasons::kData),
    ignored("dataset_prompt_column", reasons::kData),
    ignored("env", reasons::kData),
    ignored("env.*", reasons::kData),
    ignored("user_file", reasons::kData),
    ignored("ignore_bias_buffers", reasons::kData),
    ignored("train_file", reasons::kData),
    ignored("validation_file", reasons::kData),
    ignored("training_data_path", reasons::kData),
    ignored("response_template", reasons::kData),
    ignored("test_size", reasons::kData),
    ignored("fim_*", reasons::kData),
    ignored("eos_token", reasons::kTokenizer),
    ignored("pad_token", reasons::kTokenizer),
    ignored("chat_template", reasons::kTokenizer),
    ignored("chat_template_format", reasons::kTokenizer),
    ignored("tools", reasons::kTokenizer),
    ignored("hub_model_revision", reasons::kNames),
    ignored("model_code_revision", reasons::kNames),
    ignored("use_hf", reasons::kNames),
    ignored("benchmarks", reasons::kReports),
    ignored("callbacks", reasons::kReports),
    ignored("benchmark", reasons::kReports),
    ignored("overwrite_hub_revision", reasons::kReports),
    ignored("push_to_hub_revision", reasons::kReports),
    ignored("system_prompt", reasons::kReports),
    ignored("wandb_*", reasons::kReports),
    ignored("sanity_check", reasons::kReports),
    by_context("use_flash_attn", read_flash_flag),
    by_context("use_reentrant", read_reentrant),
    unsupported("use_unsloth", "Unsloth replaces layers and keeps less"),
    unsupported("use_loftq", "adapters start from the weights' error"),
    by_context("config", read_trl_file),
    by_context("accelerate_config", read_trl_strategy),
    by_context("num_processes", read_trl_processes),
    ignored("num_machines", reasons::kStart),
    ignored("machine_rank", reasons::kStart),
    ignored("main_process_ip", reasons::kStart),
    ignored("main_process_port", reasons::kStart),
    ignored("config_file", reasons::kStart),
};

constexpr auto kTrlRules =
    joined_rules(kTrlArguments, kModelArguments, kFsdpRules, kTrainingArguments);

void read_trl_file(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const std::string text = configuration_text(setting.value).value_or("");
  if (text.empty()) {
    keys.add_not_supported(setting.key, setting.value,
                           "the file is not there; give it as well, with another --from", "model");
    return;
  }
  keys.add_no_effect(setting.key, setting.value, "its keys follow");
  const SettingList part = read_yaml_settings(text, setting.value);
  SettingList with_file = all;
  for (const Setting& row : part.list()) {
    with_file.add(row);
  }
  apply_rules(kTrlRules, part, with_file, keys);
}

/// Keys that TRL 1 has no more (trainer/sft_config.py, model_config.py of 0.7 to 0.24), and those
/// of the transformers 4 that ran beneath it.
bool is_of_trl_0(const SettingList& all) {
  constexpr std::array<std::string_view, 6> kDropped{"max_seq_length",  "max_seq_len",
                                                     "model_name",      "num_of_sequences",
                                                     "chars_per_token", "dataset_batch_size"};
  return is_of_transformers_4(all) || std::ranges::any_of(kDropped, [&](std::string_view key) {
           return all.find(key) != nullptr;
         });
}

void finish_trl(const SettingList& all, SourceKeys& keys) {
  offer({"(framework)", "TRL's SFTTrainer"}, "framework", "trl-sft", keys);
  // TRL 1.7 was the first whose loss made no logits unless told (pull request 5846).
  if (is_of_trl_0(all) && first_like(all, "loss_type") == nullptr &&
      !is_any_on(all, {"use_liger*"})) {
    offer({"(loss)", "TRL before 1.7"}, "loss", "hf", keys);
  }
  offer_fsdp_kind(all, keys);
  offer_trl_compute_dtype(all, keys);
  // trainer/model_config.py.
  if (is_any_on(all, {"use_peft"}) && first_like(all, "lora_dropout") == nullptr) {
    offer({"(lora_dropout)", "0.05"}, "lora-dropout", "0.05", keys);
  }
}

void finish_other_trainer(const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  static_cast<void>(keys);
  refuse_other_trainer("this script");
}

}  // namespace

void read_other_trainer(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  if (!says_no(setting)) {
    refuse_other_trainer(setting.key);
  }
  note_off(setting, keys);
}

const Program& trl_sft() {
  static constexpr std::array<std::string_view, 4> kScripts{"trl sft", "sft.py", "sft_*.py",
                                                            "run_sft.py"};
  // trainer/base_config.py, trainer/model_config.py: dtype float32.
  static constexpr std::array kDefaults{
      ProgramDefault{"per_device_train_batch_size", "8"},
      ProgramDefault{"gradient_checkpointing", "true"}, ProgramDefault{"dtype", "float32"},
      ProgramDefault{"bf16", "true"}, ProgramDefault{"max_length", "1024"}};
  static constexpr Program kProgram{.name = "trl",
                                    .releases = "TRL 0.7 to 1.16",
                                    .rules = kTrlRules,
                                    .scripts = kScripts,
                                    .defaults = kDefaults,
                                    .finish = finish_trl};
  return kProgram;
}

const Program& trl_others() {
  static constexpr std::array<std::string_view, 31> kScripts{
      "run_dpo*.py",     "train_dpo*.py", "train_grpo*.py", "run_grpo*.py", "*_orpo*.py",
      "trl dpo",         "trl grpo",      "trl kto",        "trl rloo",     "trl reward",
      "dpo*.py",         "kto.py",        "grpo*.py",       "rloo*.py",     "reward*.py",
      "ppo*.py",         "*orpo.py",      "cpo.py",         "bco.py",       "gkd.py",
      "gold.py",         "nash_md.py",    "xpo.py",         "tpo.py",       "prm.py",
      "*online_dpo*.py", "gspo*.py",      "sd*o.py",        "sdft.py",      "distillation.py",
      "mpo_vlm.py"};
  static constexpr Program kProgram{.name = "trl's other trainers",
                                    .releases = "TRL 0.7 to 1.16",
                                    .rules = {},
                                    .scripts = kScripts,
                                    .finish = finish_other_trainer};
  return kProgram;
}

}  // namespace highwater::program_table
