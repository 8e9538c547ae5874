// LLaMA-Factory's YAML files and launch lines.
//
// Source: LLaMA-Factory of August 2026 (commit ff6d4d1): hparams/*.py, hparams/parser.py,
// model/adapter.py, model/patcher.py, model/model_utils/checkpointing.py, launcher.py.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "traces/error.hpp"
#include "workloads/plan/sources/programs/hugging_face/fsdp_rules.hpp"
#include "workloads/plan/sources/programs/hugging_face/hub_models.hpp"
#include "workloads/plan/sources/programs/hugging_face/settings_facts.hpp"
#include "workloads/plan/sources/programs/hugging_face/training_arguments.hpp"
#include "workloads/plan/sources/rules/program_table.hpp"

namespace highwater::program_table {
namespace {

[[noreturn]] void refuse_factory(const Setting& setting, std::string_view what) {
  throw InputError("", setting.key + " " + setting.value, what,
                   "record the run instead (highwater record)");
}

void read_factory_stage(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  if (setting.value != "sft" && setting.value != "pt") {
    refuse_factory(setting,
                   "only supervised fine-tuning and pre-training are simulated, not this stage");
  }
  keys.add_no_effect(setting.key, setting.value, "the loss of words, as it is here");
}

void read_factory_type(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  if (setting.value == "lora" || setting.value == "full") {
    keys.add_no_effect(setting.key, setting.value, "read with lora_rank and the precision");
  } else {
    refuse_factory(setting, "only whole models and LoRA are simulated, not this kind of training");
  }
}

/// model/adapter.py init_adapter: what is trained becomes fp32, unless pure_bf16 or ZeRO-3; the
/// rest stays in the checkpoint's type.
std::string factory_precision(const SettingList& all) {
  const bool is_full = text_of(all, {"finetuning_type"}).value_or("lora") == "full";
  const std::string_view half = half_of(all);
  // hparams/parser.py get_train_args: weights are read in the type of training.
  const std::string_view kept =
      half.empty() ? checkpoint_type(model_of(all)).value_or("bf16") : half;
  if (is_any_on(all, {"pure_bf16"})) {
    return "bf16";
  }
  return precision_word(is_full ? "fp32" : kept, half, sharding_of(all)).value_or("");
}

void read_factory_half(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const std::string word = factory_precision(all);
  if (says_no(setting)) {
    note_off(setting, keys);
  } else if (word.empty()) {
    keys.add_not_supported(setting.key, setting.value,
                           "weights of this type under autocast have no word; give --precision",
                           "precision");
  } else {
    offer(setting, "precision", word, keys);
  }
}

/// llamafactory-cli chat, api and export read such files; training needs do_train (parser.py).
void read_factory_other_use(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const Setting* const stage = all.find("stage");
  const bool has_stage = stage != nullptr && !stage->is_default;
  if (!has_stage && all.find("do_train") == nullptr) {
    throw InputError("", setting.key + " " + setting.value,
                     "this file is for chat or export (llamafactory-cli), and trains nothing",
                     "give the file of 'llamafactory-cli train', which has do_train");
  }
  keys.add_no_effect(setting.key, setting.value, std::string(reasons::kInference));
}

void read_factory_packing(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  if (says_no(setting)) {
    note_off(setting, keys);
  } else if (is_same_key(setting.key, "neat_packing")) {
    keys.add_not_supported(setting.key, setting.value,
                           "texts of a row do not see each other, by a mask or by flash-attn");
  } else {
    keys.add_no_effect(setting.key, setting.value, "rows are full, as they are here");
  }
}

/// model/model_utils/checkpointing.py prepare_model_for_training: on unless told, reentrant but
/// with FSDP2.
void read_factory_checkpointing(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const Setting* const flag = all.find("use_reentrant_gc");
  const bool is_reentrant =
      sharding_of(all) != Sharding::fsdp2 && (flag == nullptr || !says_no(*flag));
  offer(setting, "checkpoint", says_no(setting) ? "full" : "none", keys);
  if (says_no(setting)) {
    offer(setting, "checkpoint-impl", is_reentrant ? "reentrant" : "nonreentrant", keys);
  }
}

void read_factory_megatron(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  static_cast<void>(keys);
  refuse_factory(setting,
                 "this file is for LLaMA-Factory's Megatron trainers, which are not simulated");
}

void read_factory_vision(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  keys.add_no_effect(setting.key, setting.value, "read of models that see only");
}

/// train/trainer_utils.py: each makes an optimizer of its own, whatever `optim` says but for its
/// bits.
bool has_own_optimizer(const SettingList& all) {
  return is_any_on(all, {"use_galore", "use_apollo", "use_muon"});
}

void read_factory_optim(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (has_own_optimizer(all)) {
    keys.add_no_effect(setting.key, setting.value, "read with the optimizer that the file names");
  } else {
    read_optim(setting, all, keys);
  }
}

std::string projecting_optimizer(const Setting& setting, const SettingList& all) {
  const std::string optim = text_of(all, {"optim"}).value_or("adamw_torch");
  const bool is_galore = is_same_key(setting.key, "use_galore");
  return !is_galore                                ? "apollo-adamw"
         : optim == "adafactor"                    ? "galore-adafactor"
         : optim.find("8bit") != std::string::npos ? "galore-adamw-8bit"
                                                   : "galore-adamw";
}

/// train/trainer_utils.py _create_galore_optimizer, _create_apollo_optimizer; a rank of 16 in
/// hparams/finetuning_args.py.
void read_factory_projection(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (says_no(setting)) {
    return note_off(setting, keys);
  }
  const std::string name = is_same_key(setting.key, "use_galore") ? "galore" : "apollo";
  offer(setting, "optimizer", projecting_optimizer(setting, all), keys);
  const std::string rank = text_of(all, {name + "_rank"}).value_or("16");
  offer({"(" + name + "_rank)", rank}, "optimizer-rank", rank, keys);
  if (is_any_on(all, {name + "_layerwise"})) {
    offer({"(" + name + "_layerwise)", "true"}, "optimizer-in-backward", "true", keys);
  }
  if (text_of(all, {name + "_target"}).value_or("all") != "all") {
    keys.add_not_supported(setting.key, setting.value,
                           "simulated with every linear layer projected");
  }
}

/// third_party/muon of LLaMA-Factory: momentum of matrices alone, AdamW for the rest.
void read_factory_muon(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  if (says_no(setting)) {
    return note_off(setting, keys);
  }
  offer(setting, "optimizer", "muon", keys);
  keys.add_not_supported(setting.key, setting.value,
                         "its own Muon; simulated as torch.optim.Muon with AdamW beside it");
}

void read_factory_fp8(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  if (says_no(setting)) {
    note_off(setting, keys);
  } else {
    offer(setting, "float8", "true", keys);
  }
}

constexpr std::array kFactoryArguments{
    by_context("stage", read_factory_stage),
    by_context("finetuning_type", read_factory_type),
    by_context("lora_rank", read_lora_key),
    by_context("lora_dropout", read_lora_key),
    by_context("lora_target", read_lora_key),
    ignored("lora_alpha", reasons::kNumbers),
    ignored("use_rslora", reasons::kNumbers),
    ignored("loraplus_lr_ratio", reasons::kNumbers),
    ignored("loraplus_lr_embedding", reasons::kNumbers),
    becomes("use_dora", "dora"),
    unsupported("pissa_init", "adapters start from the weights' largest directions"),
    ignored("pissa_*", reasons::kWithOther),
    ignored("create_new_adapter", reasons::kWithOther),
    unsupported("additional_target", "modules that are trained whole beside the adapters"),
    unsupported("adapter_name_or_path", "adapters are read, and merged into the weights"),
    ignored("adapter_folder", reasons::kNames),
    by_context("pure_bf16", read_factory_half),
    by_context("bf16", read_factory_half),
    by_context("fp16", read_factory_half),
    becomes("cutoff_len", "seq"),
    by_context("packing", read_factory_packing),
    by_context("neat_packing", read_factory_packing),
    by_context("disable_gradient_checkpointing", read_factory_checkpointing),
    ignored("use_reentrant_gc", reasons::kWithOther),
    by_context("flash_attn", read_factory_attention),
    by_context("enable_liger_kernel", read_liger),
    by_context("quantization_bit", read_quantization_bit),
    ignored("quantization_method", reasons::kWithOther),
    ignored("quantization_type", reasons::kWithOther),
    ignored("double_quantization", reasons::kWithOther),
    ignored("quantization_device_map", reasons::kWithOther),
    unsupported("use_unsloth", "Unsloth replaces layers and keeps less"),
    unsupported("use_unsloth_gc", "Unsloth replaces layers and keeps less"),
    unsupported("shift_attn", "attention within groups of words"),
    unsupported("mixture_of_depths", "layers are left out for some words"),
    unsupported("moe_aux_loss_coef", "the router's logits are kept for its own loss"),
    unsupported("upcast_layernorm", "norms in fp32"),
    unsupported("upcast_lmhead_output", "logits in fp32"),
    unsupported("resize_vocab", "new words add rows to the embedding"),
    unsupported("add_tokens", "new words add rows to the embedding"),
    unsupported("add_special_tokens", "new words add rows to the embedding"),
    ignored("new_special_tokens_config", reasons::kTokenizer),
    ignored("init_special_tokens", reasons::kTokenizer),
    ignored("split_special_tokens", reasons::kTokenizer),
    unsupported("train_from_scratch", "weights are made, not read"),
    ignored("rope_scaling", "other angles of positions, the same sizes"),
    by_context("optim", read_factory_optim),
    by_context("use_galore", read_factory_projection),
    by_context("use_apollo", read_factory_projection),
    unsupported("use_badam", "BAdam trains a block at a time"),
    unsupported("use_adam_mini", "Adam-mini keeps one second moment for each block"),
    by_context("use_muon", read_factory_muon),
    unsupported("use_llama_pro", "only new blocks are trained"),
    ignored("galore_*", reasons::kWithOther),
    ignored("apollo_*", reasons::kWithOther),
    ignored("badam_*", reasons::kWithOther),
    ignored("freeze_trainable_*", reasons::kWithOther),
    ignored("freeze_extra_modules", reasons::kWithOther),
    unsupported("use_asft_loss", "a second model gives the probabilities it is compared with"),
    unsupported("use_dft_loss", "a loss with weights for each word"),
    unsupported("use_eaft_loss", "a loss with weights for each word"),
    ignored("asft_alpha", reasons::kWithOther),
    ignored("eaft_alpha", reasons::kWithOther),
    unsupported("use_mca", "training runs in another program"),
    unsupported("use_megatron_bridge", "training runs in another program"),
    unsupported("use_hyper_parallel", "training runs in another program"),
    unsupported("use_kt", "training runs in another program"),
    ignored("hyper_parallel_*", reasons::kWithOther),
    ignored("kt_*", reasons::kWithOther),
    ignored("oft_*", reasons::kWithOther),
    ignored("module_dropout", reasons::kWithOther),
    by_context("tensor_model_parallel_size", read_factory_megatron),
    by_context("pipeline_model_parallel_size", read_factory_megatron),
    by_context("expert_model_parallel_size", read_factory_megatron),
    by_context("context_parallel_size", read_factory_megatron),
    by_context("virtual_pipeline_model_parallel_size", read_factory_megatron),
    ignored("sequence_parallel", reasons::kWithOther),
    ignored("recompute_*", reasons::kWithOther),
    ignored("account_for_*", reasons::kWithOther),
    ignored("bias_activation_fusion", reasons::kWithOther),
    ignored("apply_rope_fusion", reasons::kWithOther),
    ignored("masked_softmax_fusion", reasons::kWithOther),
    ignored("cross_entropy_loss_fusion", reasons::kWithOther),
    ignored("moe_grouped_gemm", reasons::kWithOther),
    ignored("moe_token_dispatcher_type", reasons::kWithOther),
    ignored("calculate_per_token_loss", reasons::kWithOther),
    ignored("use_distributed_optimizer", reasons::kWithOther),
    ignored("overlap_param_gather", reasons::kWithOther),
    ignored("overlap_grad_reduce", reasons::kWithOther),
    ignored("use_packed_sequences", reasons::kWithOther),
    ignored("mixed_precision", reasons::kWithOther),
    ignored("megatron_pretrained_checkpoint", reasons::kWithOther),
    ignored("extra_config", reasons::kWithOther),
    by_context("freeze_vision_tower", read_factory_vision),
    by_context("freeze_multi_modal_projector", read_factory_vision),
    by_context("freeze_language_model", read_factory_vision),
    ignored("image_*", reasons::kData),
    ignored("video_*", reasons::kData),
    ignored("audio_sampling_rate", reasons::kData),
    ignored("use_audio_in_video", reasons::kData),
    ignored("crop_to_patches", reasons::kData),
    by_context("fp8", read_factory_fp8),
    ignored("fp8_*", reasons::kWithOther),
    ignored("pref_*", reasons::kWithOther),
    ignored("dpo_label_smoothing", reasons::kWithOther),
    ignored("kto_*", reasons::kWithOther),
    ignored("simpo_gamma", reasons::kWithOther),
    ignored("ppo_*", reasons::kWithOther),
    ignored("ref_model", reasons::kWithOther),
    ignored("ref_model_*", reasons::kWithOther),
    ignored("reward_model", reasons::kWithOther),
    ignored("reward_model_*", reasons::kWithOther),
    ignored("ld_alpha", reasons::kWithOther),
    ignored("template", reasons::kData),
    ignored("dataset", reasons::kData),
    ignored("dataset_dir", reasons::kData),
    ignored("media_dir", reasons::kData),
    ignored("train_on_prompt", reasons::kData),
    ignored("mask_history", reasons::kData),
    ignored("streaming", reasons::kData),
    ignored("buffer_size", reasons::kData),
    ignored("mix_strategy", reasons::kData),
    ignored("interleave_probs", reasons::kData),
    ignored("overwrite_cache", reasons::kData),
    ignored("preprocessing_batch_size", reasons::kData),
    ignored("preprocessing_num_workers", reasons::kData),
    ignored("max_samples", reasons::kData),
    ignored("ignore_pad_token_for_loss", reasons::kData),
    ignored("tool_format", reasons::kData),
    ignored("default_system", reasons::kData),
    ignored("enable_thinking", reasons::kData),
    ignored("preserve_thinking", reasons::kData),
    ignored("tokenized_path", reasons::kData),
    ignored("data_shared_file_system", reasons::kData),
    ignored("disable_shuffling", reasons::kData),
    ignored("train_dataset", reasons::kData),
    ignored("custom_chat_template", reasons::kData),
    ignored("eval_dataset", reasons::kEvaluation),
    ignored("val_size", reasons::kEvaluation),
    ignored("eval_num_beams", reasons::kEvaluation),
    ignored("eval_on_each_dataset", reasons::kEvaluation),
    ignored("compute_accuracy", reasons::kEvaluation),
    ignored("early_stopping_steps", reasons::kEvaluation),
    ignored("do_sample", reasons::kInference),
    ignored("temperature", reasons::kInference),
    ignored("top_p", reasons::kInference),
    ignored("top_k", reasons::kInference),
    ignored("num_beams", reasons::kInference),
    ignored("max_new_tokens", reasons::kInference),
    ignored("repetition_penalty", reasons::kInference),
    ignored("length_penalty", reasons::kInference),
    ignored("skip_special_tokens", reasons::kInference),
    by_context("infer_backend", read_factory_other_use),
    by_context("export_dir", read_factory_other_use),
    ignored("infer_dtype", reasons::kInference),
    ignored("use_kv_cache", reasons::kInference),
    ignored("vllm_*", reasons::kInference),
    ignored("sglang_*", reasons::kInference),
    ignored("sample_backend", reasons::kInference),
    ignored("max_length", reasons::kInference),
    ignored("export_*", reasons::kAfter),
    ignored("export_hf_on_finish", reasons::kAfter),
    ignored("plot_loss", reasons::kReports),
    ignored("print_param_status", reasons::kReports),
    ignored("use_swanlab", reasons::kReports),
    ignored("swanlab_*", reasons::kReports),
    ignored("include_effective_tokens_per_second", reasons::kReports),
    ignored("enable_torch_profiler", reasons::kReports),
    ignored("profiler_*", reasons::kReports),
    ignored("profile_modules", reasons::kReports),
    ignored("ray_*", reasons::kStart),
    ignored("master_addr", reasons::kStart),
    ignored("master_port", reasons::kStart),
    ignored("hf_hub_token", reasons::kNames),
    ignored("ms_hub_token", reasons::kNames),
    ignored("om_hub_token", reasons::kNames),
    ignored("offload_folder", reasons::kNames),
    ignored("model_class", reasons::kNames),
    unsupported("use_v1_kernels", "fused kernels, which keep less"),
};

constexpr auto kFactoryRules =
    joined_rules(kFactoryArguments, kModelArguments, kFsdpRules, kTrainingArguments);

void finish_factory(const SettingList& all, SourceKeys& keys) {
  offer({"(framework)", "transformers' Trainer"}, "framework", "trainer", keys);
  offer_fsdp_kind(all, keys);
  note_missing_ranks(all, keys);
  if (first_like(all, "disable_gradient_checkpointing") == nullptr) {
    read_factory_checkpointing({"(disable_gradient_checkpointing)", "false"}, all, keys);
  }
  if (!is_any_on(all, {"bf16", "fp16", "pure_bf16"})) {
    offer({"(precision)", "the weights' own"}, "precision", factory_precision(all), keys);
  }
  // hparams/parser.py get_train_args.
  if (trains_adapters(all) && all.find("ddp_find_unused_parameters") == nullptr) {
    offer({"(ddp_find_unused_parameters)", "false"}, "find-unused-parameters", "false", keys);
  }
}

}  // namespace

void read_factory_attention(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (setting.value == "auto") {
    keys.add_no_effect(setting.key, setting.value, "left to the default");
  } else {
    offer_attention(setting, setting.value == "disabled" ? "eager" : setting.value, all, keys);
  }
}

const Program& llamafactory() {
  static constexpr std::array<std::string_view, 3> kScripts{"llamafactory-cli train", "lmf train",
                                                            "src/train.py"};
  static constexpr std::array kDefaults{ProgramDefault{"finetuning_type", "lora"},
                                        ProgramDefault{"lora_rank", "8"},
                                        ProgramDefault{"lora_target", "all"},
                                        ProgramDefault{"cutoff_len", "2048"},
                                        ProgramDefault{"stage", "sft"},
                                        ProgramDefault{"per_device_train_batch_size", "8"}};
  static constexpr Program kProgram{.name = "llamafactory",
                                    .releases = "LLaMA-Factory 0.8 to August 2026",
                                    .rules = kFactoryRules,
                                    .scripts = kScripts,
                                    .defaults = kDefaults,
                                    .finish = finish_factory};
  return kProgram;
}

}  // namespace highwater::program_table
