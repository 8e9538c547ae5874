// YAML files of LLaMA-Factory's second version (v1/), a loop of its own.
//
// Source: LLaMA-Factory of August 2026 (commit ff6d4d1): v1/config/*.py, v1/core/base_trainer.py,
// v1/core/model_engine.py.
#include <array>

#include "traces/error.hpp"
#include "workloads/plan/sources/programs/hugging_face/hub_models.hpp"
#include "workloads/plan/sources/programs/hugging_face/hugging_face.hpp"
#include "workloads/plan/sources/programs/hugging_face/key_reasons.hpp"
#include "workloads/plan/sources/programs/hugging_face/settings_facts.hpp"
#include "workloads/plan/sources/rules/program_table.hpp"

namespace highwater::program_table {
namespace {

/// v1/core/base_trainer.py: non-reentrant.
void read_v1_checkpointing(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  offer(setting, "checkpoint", says_no(setting) ? "none" : "full", keys);
}

/// v1/core/model_engine.py: weights in the checkpoint's type; sharded ones compute in bf16.
void read_v1_half(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const std::string_view kept = checkpoint_type(model_of(all)).value_or("bf16");
  if (sharding_of(all) == Sharding::deepspeed) {
    offer(setting, "precision", says_no(setting) ? "fp32" : "bf16", keys);
  } else {
    offer(setting, "precision", std::string(kept), keys);
  }
}

void read_v1_strategy(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  if (setting.value == "fsdp2") {
    offer(setting, "dp-kind", "fsdp2", keys);
    offer(setting, "param-dtype", "bf16", keys);
  } else if (setting.value == "deepspeed") {
    keys.add_no_effect(setting.key, setting.value, "read with dist_config.config_file");
  } else {
    keys.add_not_supported(setting.key, setting.value,
                           "another way to spread a model; give --dp-kind", "dp-kind");
  }
}

void read_v1_peft(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  if (setting.value == "lora" || says_no(setting)) {
    keys.add_no_effect(setting.key, setting.value, "read with peft_config.r");
  } else {
    throw InputError("", setting.key + " " + setting.value,
                     "only whole models and LoRA are simulated, not this kind of training",
                     "record the run instead (highwater record)");
  }
}

void read_v1_kernels(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  if (says_no(setting) || setting.value == "auto") {
    keys.add_no_effect(setting.key, setting.value, "kernels of NPUs, none of GPUs");
  } else {
    keys.add_not_supported(setting.key, setting.value, "fused kernels, which keep less");
  }
}

void read_v1_optim(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  if (setting.kind == SettingKind::null) {
    keys.add_no_effect(setting.key, setting.value, "left to the default");
  } else {
    offer(setting, "optimizer", setting.value, keys);
  }
}

void read_v1_global_batch(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  if (setting.kind == SettingKind::null) {
    keys.add_no_effect(setting.key, setting.value, "left to the default");
  } else {
    keys.add_not_supported(setting.key, setting.value, "the batch of all ranks; give --grad-accum",
                           "grad-accum");
  }
}

constexpr std::array kFactoryV1CpWords{ValueWord{"1", ""}};
constexpr std::array kFactoryV1GradClipWords{ValueWord{"0", "none"}, ValueWord{"0.0", "none"}};
constexpr std::array kFactorySecondRules{
    by_context("model", read_model),
    becomes("micro_batch_size", "batch"),
    by_context("enable_activation_checkpointing", read_v1_checkpointing),
    by_context("dist_config.name", read_v1_strategy),
    by_context("dist_config.config_file", read_deepspeed),
    ignored("dist_config.*", reasons::kStart),
    ignored("dist_config", reasons::kStart),
    ignored("init_config", reasons::kStart),
    ignored("init_config.*", reasons::kStart),
    ignored("dist_timeout", reasons::kStart),
    by_context("peft_config.name", read_v1_peft),
    by_context("peft_config.r", read_lora_key),
    by_context("peft_config.lora_dropout", read_lora_key),
    by_context("peft_config.target_modules", read_lora_key),
    ignored("peft_config", reasons::kNumbers),
    ignored("peft_config.*", reasons::kNumbers),
    by_context("kernel_config.name", read_v1_kernels),
    ignored("kernel_config", reasons::kWithOther),
    ignored("kernel_config.*", reasons::kWithOther),
    unsupported("quant_config.name", "the weights are quantised"),
    ignored("quant_config", reasons::kWithOther),
    ignored("quant_config.*", reasons::kWithOther),
    by_context("optim_config.name", read_v1_optim),
    ignored("optim_config", reasons::kNumbers),
    ignored("optim_config.*", reasons::kNumbers),
    ignored("lr_scheduler_config", reasons::kNumbers),
    ignored("lr_scheduler_config.*", reasons::kNumbers),
    by_context("global_batch_size", read_v1_global_batch),
    ignored("batching_strategy", reasons::kData),
    ignored("batching_workers", reasons::kData),
    becomes("cp_size", "cp", kFactoryV1CpWords),
    by_context("mp_replicate_size", read_replicas),
    ignored("cp_mode", reasons::kWithOther),
    ignored("mp_shard_size", reasons::kWithOther),
    ignored("dp_size", reasons::kWithOther),
    ignored("save_epochs", reasons::kFiles),
    ignored("save_ckpt_as_hf", reasons::kFiles),
    becomes("cutoff_len", "seq"),
    by_context("bf16", read_v1_half),
    becomes("max_grad_norm", "grad-clip", kFactoryV1GradClipWords),
    by_context("flash_attn", read_factory_attention),
    ignored("train_dataset", reasons::kData),
    ignored("eval_dataset", reasons::kData),
    ignored("custom_chat_template", reasons::kData),
    ignored("template", reasons::kData),
    ignored("seed", reasons::kData),
    ignored("full_determinism", reasons::kData),
    ignored("output_dir", reasons::kFiles),
    ignored("save_*", reasons::kFiles),
    ignored("resume_from_checkpoint", reasons::kFiles),
    ignored("learning_rate", reasons::kNumbers),
    ignored("pref_*", reasons::kNumbers),
    ignored("simpo_gamma", reasons::kNumbers),
    ignored("dpo_label_smoothing", reasons::kNumbers),
    ignored("ld_alpha", reasons::kNumbers),
    ignored("num_train_epochs", reasons::kDuration),
    ignored("max_steps", reasons::kDuration),
    ignored("logging_steps", reasons::kReports),
    ignored("report_to", reasons::kReports),
    ignored("run_name", reasons::kReports),
    ignored("model_class", reasons::kCode),
    ignored("trust_remote_code", reasons::kCode),
    ignored("sample_backend", reasons::kInference),
    ignored("max_new_tokens", reasons::kInference),
};

/// v1/core/base_trainer.py: a loop of its own with AdamW of torch.
void finish_second_version(const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  offer({"(framework)", "a loop of its own"}, "framework", "hf", keys);
}

}  // namespace

const Program& llamafactory_second() {
  static constexpr std::array<std::string_view, 1> kScripts{"llamafactory-cli sft"};
  static constexpr std::array kDefaults{ProgramDefault{"cutoff_len", "2048"},
                                        ProgramDefault{"enable_activation_checkpointing", "true"},
                                        ProgramDefault{"max_grad_norm", "1.0"},
                                        ProgramDefault{"bf16", "true"},
                                        ProgramDefault{"micro_batch_size", "1"}};
  static constexpr Program kProgram{.name = "llamafactory v1",
                                    .releases = "LLaMA-Factory v1 of August 2026",
                                    .rules = kFactorySecondRules,
                                    .scripts = kScripts,
                                    .defaults = kDefaults,
                                    .finish = finish_second_version};
  return kProgram;
}

}  // namespace highwater::program_table
