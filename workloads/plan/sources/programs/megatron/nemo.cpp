// NeMo's YAML files of Megatron GPT, and launch lines with Hydra's overrides:
// python megatron_gpt_pretraining.py model.micro_batch_size=1 trainer.devices=8 ...
//
// Sources: NeMo 1.20 to 2.0, examples/nlp/language_modeling/conf and tuning/conf;
// nemo/collections/nlp/models/language_modeling/megatron_base_model.py, megatron_gpt_model.py.
#include <array>
#include <string>

#include "workloads/plan/sources/programs/megatron/megatron_model.hpp"
#include "workloads/plan/sources/programs/megatron/megatron_readers.hpp"
#include "workloads/plan/sources/programs/megatron/megatron_sizes.hpp"
#include "workloads/plan/sources/rules/joined_rules.hpp"
#include "workloads/plan/sources/rules/program_table.hpp"
#include "workloads/plan/sources/rules/reasons.hpp"

namespace highwater::program_table {
namespace {

using namespace reasons;
using namespace megatron_keys;

constexpr std::string_view kAdapters = "adapters of NeMo's own beside a frozen model";
constexpr std::string_view kWithAdapters = "read with peft.peft_scheme only";

/// Under Apex's distributed Adam parameters are bf16; without megatron_amp_O2 they are fp32 under
/// autocast.
void read_nemo_precision(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const bool is_bf16 = setting.value.starts_with("bf16");
  const bool is_half = setting.value == "16" || setting.value.starts_with("16");
  const bool is_o2 = all.is_on("megatron_amp_O2");
  if (!is_bf16 && !is_half) {
    offer(setting, "precision", "fp32", keys);
  } else if (is_o2) {
    offer(setting, "precision", is_bf16 ? "bf16" : "fp16", keys);
  } else {
    offer(setting, "precision", is_bf16 ? "amp-bf16" : "amp-fp16", keys);
  }
}

void read_nemo_devices(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const auto devices = all.whole(setting.key);
  const auto nodes = all.find("trainer.num_nodes") == nullptr ? 1 : all.whole("trainer.num_nodes");
  if (devices && nodes && *devices > 0) {
    offer(setting, "gpus", std::to_string(*devices * *nodes), keys);
  } else {
    keys.add_not_supported(setting.key, setting.value, "the number of GPUs; give --dp", "dp");
  }
}

/// distributed_fused_adam is Apex's; mcore_distributed_optim is Megatron-Core's.
void read_nemo_optimizer(const Setting& setting, const SettingList& /*all*/, SourceKeys& keys) {
  if (setting.value == "distributed_fused_adam") {
    offer(setting, "framework", "nemo", keys);
  } else if (setting.value == "mcore_distributed_optim") {
    offer(setting, "framework", "megatron", keys);
    offer(setting, "dp-kind", "zero1", keys);
  } else if (setting.value == "fused_adam" || setting.value == "adam" || setting.value == "adamw") {
    offer(setting, "framework", "megatron", keys);
    offer(setting, "dp-kind", "ddp", keys);
  } else {
    keys.add_not_supported(setting.key, setting.value, "an optimizer with other states");
  }
}

bool runs_apex(const SettingList& all) {
  return all.text("optim.name").value_or("distributed_fused_adam") == "distributed_fused_adam";
}

void read_bucket(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (runs_apex(all)) {
    offer(setting, "apex-bucket-mb", setting.value, keys);
  } else {
    keys.add_no_effect(setting.key, setting.value, "read by distributed_fused_adam only");
  }
}

void read_contiguous(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (runs_apex(all)) {
    offer(setting, "apex-contiguous-grads", setting.value, keys);
  } else {
    keys.add_no_effect(setting.key, setting.value, "read by distributed_fused_adam only");
  }
}

/// Megatron-Core's two switches under the names of Apex's.
void read_overlap(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const bool is_gather = setting.key.ends_with("overlap_param_sync");
  if (runs_apex(all)) {
    keys.add_no_effect(setting.key, setting.value, "when Apex's buckets are sent");
  } else {
    offer(setting, is_gather ? "overlap-param-gather" : "overlap-grad-reduce", setting.value, keys);
  }
}

void read_nemo_attention(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const bool runs_engine = all.is_on("transformer_engine") || all.is_on("mcore_gpt");
  if (setting.value == "true" || runs_engine) {
    offer(setting, "attention", "sdpa-flash", keys);
  } else {
    offer(setting, "attention", "eager", keys);
  }
}

/// Groups of layers, or the first ones of a stage.
void read_nemo_layers(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const bool is_full = all.text("activations_checkpoint_granularity") == "full";
  const bool is_uniform = all.text("activations_checkpoint_method") != "block";
  if (!is_full || setting.kind == SettingKind::null) {
    keys.add_no_effect(setting.key, setting.value, "read with granularity full only");
  } else if (is_uniform && setting.value == "1") {
    keys.add_no_effect(setting.key, setting.value, "each layer is recomputed, as it is here");
  } else {
    keys.add_not_supported(setting.key, setting.value, "other layers are recomputed");
  }
}

void read_scheme(const Setting& setting, const SettingList& /*all*/, SourceKeys& keys) {
  if (setting.kind == SettingKind::null || setting.value == "none") {
    keys.add_no_effect(setting.key, setting.value, "the whole model is trained");
  } else {
    offer(setting, "lora", "8", keys);
    keys.add_not_supported(setting.key, setting.value, std::string(kAdapters));
  }
}

/// A checkpoint has its own sizes.
void read_restored(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (setting.kind == SettingKind::null || all.whole("num_layers")) {
    keys.add_no_effect(setting.key, setting.value, std::string(kFiles));
  } else {
    keys.add_not_supported(setting.key, setting.value, "the model of a checkpoint; give --model",
                           "model");
  }
}

constexpr std::array kNemoOwn{
    by_context("trainer.devices", read_nemo_devices),
    ignored("trainer.num_nodes", "counted with the devices of a node"),
    by_context("trainer.precision", read_nemo_precision),
    by_context("precision", read_nemo_precision),
    becomes("trainer.gradient_clip_val", "grad-clip"),
    unsupported("trainer.accumulate_grad_batches", "micro-batches beside those of Megatron", "1"),
    ignored("trainer.*", kReports),
    ignored("exp_manager.*", kReports),
    ignored("defaults*", kNames),
    ignored("name", kNames),
    ignored("run.*", kNames),
    ignored("pretrained_checkpoint.*", kFiles),
    ignored("skip_train", kDuration),
    ignored("deterministic_mode", kNumbers),
    ignored("deteministic_mode", kNumbers),
    ignored("async_grad_allreduce", kSpeed),
    ignored("pipeline_model_parallel_split_rank", "read by models with an encoder only"),
    ignored("cross_entropy_loss_fusion", "a fused loss, as it is here"),
    unsupported("defer_embedding_wgrad_compute", "inputs of the head are kept for later"),
    ignored("wgrad_deferral_limit", "read with defer_embedding_wgrad_compute only"),
    unsupported("prune.*", "a smaller model is cut out of this one"),
    unsupported("drop_layers", "a smaller model is cut out of this one"),
    unsupported("embedding_dropout", "a mask over the embedding", "0|0.0"),
    ignored("seq_length", "the same as encoder_seq_length"),
    ignored("img_*", "read by vision models only"),
    ignored("patch_dim", "read by vision models only"),
    ignored("num_classes", "read by vision models only"),
    ignored("num_channels", "read by vision models only"),
    ignored("vision_pretraining_type", "read by vision models only"),
    ignored("drop_path_rate", "read by vision models only"),
    ignored("*classes_fraction", "read by vision models only"),
    ignored("data_per_class_fraction", "read by vision models only"),
    ignored("tokens_head_bias", "read by models with an encoder only"),
    ignored("share_token_embeddings", "read by models with an encoder only"),
    ignored("share_decoder_tokens_head_embeddings", "read by models with an encoder only"),
    ignored("eval_languages", kEvaluation),
    ignored("embedding_init_method_std", kNumbers),
    by_context("restore_from_path", read_restored),
    ignored("restore_*", kFiles),
    ignored("resume_from_checkpoint", kFiles),
    ignored("dist_ckpt_*", kFiles),
    ignored("nemo_path", kFiles),
    ignored("s3_checkpointing.*", kFiles),
    ignored("save_nemo_on_*", kFiles),
    ignored("config_*", kNames),
    ignored("hydra.*", kReports),
    becomes("micro_batch_size", "batch"),
    by_context("global_batch_size", read_global_batch),
    by_context("rampup_batch_size", read_rampup),
    becomes("tensor_model_parallel_size", "tp"),
    becomes("pipeline_model_parallel_size", "pp"),
    by_context("virtual_pipeline_model_parallel_size", read_chunks),
    becomes("context_parallel_size", "cp"),
    becomes("expert_model_parallel_size", "ep"),
    by_context("sequence_parallel", read_sequence_parallel),
    becomes("encoder_seq_length", "seq"),
    by_context("num_layers", read_model),
    by_context("hidden_dropout", read_dropout),
    ignored("attention_dropout", "read with hidden_dropout"),
    unsupported("ffn_dropout", "masks inside the MLP", "0|0.0"),
    unsupported("headscale", "heads are scaled"),
    unsupported("transformer_block_type", "norms in other places", "pre_ln"),
    unsupported("attention_type", "other groups of heads", "multihead"),
    unsupported("mcore_customization_config.*", "a layer of another model", "false"),
    unsupported("logits_soft_cap", "capped logits are kept"),
    unsupported("window_size", "attention over a window"),
    unsupported("hyena.*", "Hyena's operators in place of attention"),
    unsupported("hybrid_override_pattern", "layers of Mamba beside attention"),
    unsupported("mamba_*", "layers of Mamba beside attention"),
    ignored("apply_embedding_scaling", kNumbers),
    ignored("scale_positional_embedding", kNumbers),
    ignored("openai_gelu", kNumbers),
    ignored("rotary_*", kNumbers),
    ignored("seq_len_interpolation_factor", kNumbers),
    ignored("layernorm_*", kNumbers),
    ignored("init_method_std", kNumbers),
    ignored("use_scaled_init_method", kNumbers),
    ignored("apply_query_key_layer_scaling", kNumbers),
    ignored("normalize_attention_scores", kNumbers),
    ignored("do_layer_norm_weight_decay", kNumbers),
    ignored("hidden_size", kInModel),
    ignored("ffn_hidden_size", kInModel),
    ignored("num_attention_heads", kInModel),
    ignored("num_query_groups", kInModel),
    ignored("kv_channels", kInModel),
    ignored("max_position_embeddings", kInModel),
    ignored("normalization", kInModel),
    ignored("bias", kInModel),
    ignored("add_bias_linear", kInModel),
    ignored("qkv_bias", kInModel),
    ignored("activation", kInModel),
    ignored("gated_linear_unit", kInModel),
    ignored("position_embedding_type", kInModel),
    ignored("share_embeddings_and_output_weights", kInModel),
    ignored("vocab_size", kInModel),
    ignored("override_vocab_size", kInModel),
    ignored("num_moe_experts", kInModel),
    ignored("moe_router_topk", kInModel),
    ignored("tokenizer.*", kInModel),
    becomes("make_vocab_size_divisible_by", "vocab-divisor"),
    ignored("pre_process", "as the stage needs it"),
    ignored("post_process", "as the stage needs it"),
    ignored("mcore_gpt", "the same tensors of each layer"),
    ignored("megatron_legacy", "the same tensors of each layer"),
    ignored("transformer_engine", "the same tensors of each layer"),
    ignored("megatron_amp_O2", "read with trainer.precision"),
    ignored("native_amp_*", "single numbers of loss scaling"),
    ignored("hysteresis", "single numbers of loss scaling"),
    unsupported("fp32_residual_connection", "residuals in fp32 take twice the memory"),
    unsupported("fp16_lm_cross_entropy", "the loss in 16 bits keeps half"),
    ignored("persist_layer_norm", kSpeed),
    becomes("gradient_accumulation_fusion", "wgrad-fusion"),
    becomes("apply_rope_fusion", "rope-fusion"),
    by_context("bias_activation_fusion", read_fusion),
    by_context("bias_dropout_add_fusion", read_fusion),
    by_context("masked_softmax_fusion", read_softmax_fusion),
    ignored("get_attention_mask_from_fusion", "flash attention has no mask"),
    by_context("use_flash_attention", read_nemo_attention),
    ignored("grad_allreduce_chunk_size_mb", "Apex's buckets alone"),
    ignored("grad_div_ar_fusion", kNumbers),
    ignored("gradient_as_bucket_view", "Megatron's buffer holds the gradients"),
    ignored("overlap_p2p_comm", "when stages exchange"),
    ignored("batch_p2p_comm", "when stages exchange"),
    ignored("sync_batch_comm", "when stages exchange"),
    by_context("activations_checkpoint_granularity", read_granularity),
    ignored("activations_checkpoint_method", "read with the number of layers"),
    by_context("activations_checkpoint_num_layers", read_nemo_layers),
    unsupported("activations_checkpoint_*", "some micro-batches or layers are recomputed"),
    unsupported("num_micro_batches_with_partial_activation_checkpoints",
                "some micro-batches are recomputed"),
    unsupported("fp8", "float8 products of Transformer Engine"),
    ignored("fp8_*", "read with fp8 only"),
    ignored("reduce_amax", "read with fp8 only"),
    unsupported("use_emha", "another attention"),
    unsupported("ub_tp_comm_overlap", "Transformer Engine's buffers of overlapped collectives"),
    ignored("ub_tp_comm_overlap_cfg*", "read with ub_tp_comm_overlap only"),
    becomes("fsdp", "dp-kind", kSharded),
    ignored("fsdp_*", "read with fsdp only"),
    unsupported("cpu_offloading", "activations of layers go to the host"),
    ignored("cpu_offloading_*", "read with cpu_offloading only"),
    ignored("use_cpu_initialization", "before the first step only"),
    ignored("onnx_safe", kInference),
    ignored("seed", kNumbers),
    ignored("sharp", kCollectives),
    ignored("nccl_communicator_config_path", kCollectives),
    ignored("apex_transformer_log_level", kReports),
    ignored("enable_megatron_timers", kReports),
    ignored("megatron_timer_kwargs.*", kReports),
    ignored("nsys_profile.*", kReports),
    ignored("gc_interval", kHost),
    ignored("reset_lr*", kRate),
    ignored("validation_*", kEvaluation),
    ignored("report_validation_metric", kReports),
    unsupported("data.reset_attention_mask", "masks of [batch, 1, seq, seq]"),
    ignored("data.*", kData),
    ignored("test_ds.*", kData),
    ignored("answer_only_loss", kNumbers),
    by_context("optim.name", read_nemo_optimizer),
    by_context("optim.bucket_cap_mb", read_bucket),
    by_context("optim.contiguous_grad_buffer", read_contiguous),
    by_context("optim.overlap_grad_sync", read_overlap),
    by_context("optim.overlap_param_sync", read_overlap),
    unsupported("optim.grad_sync_dtype", "gradients are reduced in another type", "fp32"),
    unsupported("optim.store_param_remainders", "fp32 copies in place of remainders", "true"),
    ignored("optim.*", kRate),
    by_context("peft.peft_scheme", read_scheme),
    ignored("peft.*", kWithAdapters),
    unsupported("virtual_prompt_style", kAdapters, "no-prompts"),
    ignored("p_tuning.*", kWithAdapters),
    ignored("prompt_tuning.*", kWithAdapters),
    ignored("adapter_tuning.*", kWithAdapters),
    ignored("*_tasks", kData),
    ignored("task_templates*", kData),
    unsupported_model("language_model_path", "the model of a checkpoint; give --model"),
    unsupported("kd_teacher_restore_from_path", "a second model without gradients"),
    unsupported("quantization.algorithm", "quantised weights", "null"),
    ignored("quantization.*", "read with quantization.algorithm only"),
    ignored("export.*", kFiles),
    ignored("inference.*", kInference),
    ignored("chatbot_config.*", kInference),
    ignored("server", kInference),
    ignored("port", kInference),
    ignored("web_*", kInference),
    ignored("share", kInference),
    ignored("username", kInference),
    ignored("password", kInference),
    ignored("chat", kInference),
};

/// TransformerConfig's fields pass through as they are (megatron_gpt_model.py
/// build_transformer_config).
constexpr std::array kPassedOn{
    becomes("moe_grouped_gemm", "experts", kGroupedExperts),
    by_context("moe_expert_capacity_factor", read_capacity),
    ignored("moe_pad_expert_input_to_capacity", "read with moe-expert-capacity-factor"),
    ignored("tp_only_amax_red", "read with fp8 only"),
};

constexpr auto kNemoRules = joined_rules(kNemoOwn, kPassedOn, kMegatronMixtures);

/// Without an optimizer named, files of these releases have fused_adam.
void finish_nemo(const SettingList& all, SourceKeys& keys) {
  if (!all.text("optim.name")) {
    offer({"(nemo)", "its default"}, "framework", "nemo", keys);
  }
  if (all.find("use_flash_attention") == nullptr) {
    read_nemo_attention({"use_flash_attention", "left out"}, all, keys);
  }
}

}  // namespace

const Program& nemo() {
  static constexpr std::array<std::string_view, 4> kScripts{
      "megatron_gpt_pretraining.py", "megatron_gpt_finetuning.py", "megatron_gpt_sft.py",
      "megatron_gpt_peft_tuning.py"};
  static constexpr std::array<std::string_view, 1> kSections{"model."};
  // Hydra reads the file with OmegaConf.load(); omegaconf/_utils.py get_yaml_loader().
  static constexpr std::string_view kRepeated = "OmegaConf: \"found duplicate key\"";
  static constexpr Program kProgram{.name = "nemo",
                                    .releases = "NeMo 1.20 to 2.0",
                                    .rules = kNemoRules,
                                    .scripts = kScripts,
                                    .sections = kSections,
                                    .refuses_repeated_keys = kRepeated,
                                    .finish = finish_nemo};
  return kProgram;
}

}  // namespace highwater::program_table
