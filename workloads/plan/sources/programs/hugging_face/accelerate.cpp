// accelerate: the YAML file of `accelerate config`, and the options of `accelerate launch`.
//
// Source: accelerate 1.15 commands/config/config_args.py, commands/config/cluster.py,
// commands/launch.py, utils/dataclasses.py.
#include <array>

#include <fmt/format.h>

#include "workloads/plan/sources/programs/hugging_face/fsdp_rules.hpp"
#include "workloads/plan/sources/programs/hugging_face/settings_facts.hpp"
#include "workloads/plan/sources/programs/hugging_face/training_arguments.hpp"
#include "workloads/plan/sources/rules/program_table.hpp"

namespace highwater::program_table {
namespace {

void read_distributed_type(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const std::string& type = setting.value;
  if (type == "NO" || type == "false") {
    keys.add_no_effect(setting.key, type, "one process");
  } else if (type == "MULTI_GPU") {
    offer(setting, "dp-kind", "ddp", keys);
  } else if (type.starts_with("MULTI_") && type != "MULTI_CPU") {
    offer(setting, "dp-kind", "ddp", keys);
    keys.add_not_supported(setting.key, type, "another device; simulated as GPUs");
  } else if (type == "FSDP") {
    offer(setting, "dp-kind", sharding_of(all) == Sharding::fsdp1 ? "fsdp1" : "fsdp2", keys);
  } else if (type == "DEEPSPEED") {
    keys.add_no_effect(setting.key, type, "read with deepspeed_config");
  } else {
    keys.add_not_supported(setting.key, type, "another way to spread a model; give --dp-kind",
                           "dp-kind");
  }
}

void read_distributed_flag(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (says_no(setting)) {
    return note_off(setting, keys);
  }
  const std::string_view type = is_same_key(setting.key, "multi_gpu")  ? "MULTI_GPU"
                                : is_same_key(setting.key, "use_fsdp") ? "FSDP"
                                                                       : "DEEPSPEED";
  read_distributed_type({setting.key, std::string(type)}, all, keys);
}

/// commands/launch.py: num_processes counts those of all machines.
void read_processes(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  const auto count = whole_number(setting.value);
  if (!count || *count < 1) {
    keys.add_not_supported(setting.key, setting.value, "the number of GPUs; give --dp", "dp");
  } else {
    offer(setting, "gpus", std::to_string(*count), keys);
  }
}

void read_mixed_precision(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const std::string half =
      is_same_key(setting.key, "fp16") && !says_no(setting) ? "fp16" : setting.value;
  if (says_no(setting)) {
    note_off(setting, keys);
  } else if (half == "fp8") {
    keys.add_no_effect(setting.key, half, "read with fp8_config");
  } else if (const auto word = precision_word("fp32", half, sharding_of(all))) {
    offer(setting, "precision", *word, keys);
  }
}

/// utils/dataclasses.py: torchao's products are Highwater's float8; Transformer Engine's are not.
void read_fp8_backend(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (!is_any_on(all, {"mixed_precision"}) || text_of(all, {"mixed_precision"}) != "fp8") {
    keys.add_no_effect(setting.key, setting.value, "read only with mixed_precision fp8");
  } else if (is_same_key(setting.value, "AO") || is_same_key(setting.value, "torchao")) {
    offer(setting, "float8", "true", keys);
  } else {
    keys.add_not_supported(setting.key, setting.value, "products in 8 bits by another library");
  }
}

void read_zero_offload_device(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const bool optimizer = is_any_on(all, {"*offload_optimizer_device"});
  const bool params = is_any_on(all, {"*offload_param_device"}) &&
                      text_of(all, {"*zero_stage"}).value_or("2") == "3";
  if (says_no(setting) || (!optimizer && !params)) {
    note_off(setting, keys);
  } else {
    offer(setting, "offload", optimizer && params ? "both" : params ? "params" : "optimizer", keys);
  }
}

void read_zero3_init(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (says_no(setting)) {
    note_off(setting, keys);
  } else if (text_of(all, {"*zero_stage"}).value_or("2") != "3") {
    keys.add_no_effect(setting.key, setting.value, "read with stage 3 only");
  } else {
    offer(setting, "zero-init", "true", keys);
    offer(setting, "init", "device", keys);
  }
}

constexpr std::array kAccelerateCpWords{ValueWord{"1", ""}};
constexpr std::array kAccelerateArguments{
    by_context("distributed_type", read_distributed_type),
    by_context("multi_gpu", read_distributed_flag),
    by_context("use_fsdp", read_distributed_flag),
    by_context("use_deepspeed", read_distributed_flag),
    by_context("num_processes", read_processes),
    by_context("mixed_precision", read_mixed_precision),
    by_context("fp16", read_mixed_precision),
    by_context("dynamo_backend", read_compile_backend),
    by_context("dynamo_config.*dynamo_backend", read_compile_backend),
    by_context("dynamo_config.backend", read_compile_backend),
    unsupported("dynamo_mode", "another way of compiling than torch.compile's own default",
                "default"),
    unsupported("dynamo_config.*mode", "another way of compiling than torch.compile's own default",
                "default"),
    unsupported("dynamo_use_fullgraph", "another way of compiling than torch.compile's own default",
                "no"),
    unsupported("dynamo_use_dynamic", "another way of compiling than torch.compile's own default",
                "no"),
    unsupported("dynamo_use_regional_compilation",
                "another way of compiling than torch.compile's own default", "no"),
    unsupported("dynamo_config.*use_*", "another way of compiling than torch.compile's own default",
                "no"),
    ignored("dynamo_config", reasons::kWithOther),
    ignored("fsdp_config", reasons::kWithOther),
    by_context("zero_stage", read_zero_stage),
    by_context("deepspeed_config.zero_stage", read_zero_stage),
    by_context("offload_optimizer_device", read_zero_offload_device),
    by_context("deepspeed_config.offload_optimizer_device", read_zero_offload_device),
    by_context("offload_param_device", read_zero_offload_device),
    by_context("deepspeed_config.offload_param_device", read_zero_offload_device),
    ignored("offload_optimizer_nvme_path", reasons::kHost),
    ignored("deepspeed_config.offload_optimizer_nvme_path", reasons::kHost),
    ignored("deepspeed_config.offload_*_pin_memory", reasons::kHost),
    ignored("deepspeed_config.bf16_enabled", "read with mixed_precision"),
    ignored("deepspeed_config.fp16_enabled", "read with mixed_precision"),
    ignored("offload_param_nvme_path", reasons::kHost),
    ignored("deepspeed_config.offload_param_nvme_path", reasons::kHost),
    by_context("gradient_accumulation_steps", read_number_or_auto_accum),
    by_context("deepspeed_config.gradient_accumulation_steps", read_number_or_auto_accum),
    by_context("gradient_clipping", read_number_or_auto_clip),
    by_context("deepspeed_config.gradient_clipping", read_number_or_auto_clip),
    by_context("zero3_init_flag", read_zero3_init),
    by_context("deepspeed_config.zero3_init_flag", read_zero3_init),
    by_context("deepspeed_config_file", read_deepspeed),
    by_context("deepspeed_config.deepspeed_config_file", read_deepspeed),
    ignored("zero3_save_16bit_model", reasons::kFiles),
    ignored("deepspeed_config.zero3_save_16bit_model", reasons::kFiles),
    ignored("deepspeed_hostfile", reasons::kStart),
    ignored("deepspeed_exclusion_filter", reasons::kStart),
    ignored("deepspeed_inclusion_filter", reasons::kStart),
    ignored("deepspeed_multinode_launcher", reasons::kStart),
    ignored("deepspeed_config.deepspeed_hostfile", reasons::kStart),
    ignored("deepspeed_config.deepspeed_exclusion_filter", reasons::kStart),
    ignored("deepspeed_config.deepspeed_inclusion_filter", reasons::kStart),
    ignored("deepspeed_config.deepspeed_multinode_launcher", reasons::kStart),
    unsupported("deepspeed_moe_layer_cls_names", "experts are gathered together"),
    unsupported("deepspeed_config.deepspeed_moe_layer_cls_names", "experts are gathered together"),
    ignored("deepspeed_config.seq_parallel_communication_data_type", reasons::kWithOther),
    unsupported("deepspeed_config.enable_msamp", "MS-AMP keeps weights in 8 bits"),
    ignored("deepspeed_config", reasons::kWithOther),
    ignored("deepspeed_config.deepspeed_fields_from_accelerate_config", reasons::kWithOther),
    by_context("parallelism_config.*dp_replicate_size", read_replicas),
    by_context("parallelism_config_dp_replicate_size", read_replicas),
    ignored("parallelism_config.*dp_shard_size", reasons::kWithOther),
    ignored("parallelism_config_dp_shard_size", reasons::kWithOther),
    ignored("use_parallelism_config", reasons::kWithOther),
    by_context("parallelism_config.*tp_size", read_tensor_size),
    by_context("parallelism_config_tp_size", read_tensor_size),
    becomes("parallelism_config.*cp_size", "cp", kAccelerateCpWords),
    becomes("parallelism_config_cp_size", "cp", kAccelerateCpWords),
    ignored("parallelism_config.*cp_backend", reasons::kWithOther),
    ignored("parallelism_config_cp_backend", reasons::kWithOther),
    ignored("parallelism_config.*cp_comm_strategy", reasons::kWithOther),
    ignored("parallelism_config_cp_comm_strategy", reasons::kWithOther),
    ignored("parallelism_config.*cp_handler", reasons::kWithOther),
    ignored("parallelism_config.*sp_backend", reasons::kWithOther),
    ignored("parallelism_config_sp_backend", reasons::kWithOther),
    ignored("parallelism_config.*sp_seq_length*", reasons::kWithOther),
    ignored("parallelism_config_sp_seq_length*", reasons::kWithOther),
    ignored("parallelism_config.*sp_attn_implementation", reasons::kWithOther),
    ignored("parallelism_config_sp_attn_implementation", reasons::kWithOther),
    ignored("parallelism_config.*sp_handler", reasons::kWithOther),
    ignored("parallelism_config", reasons::kWithOther),
    unsupported("parallelism_config.*sp_size",
                "Ulysses' sequence parallelism splits the words of each text", "1"),
    unsupported("parallelism_config_sp_size",
                "Ulysses' sequence parallelism splits the words of each text", "1"),
    by_context("fp8_config.backend", read_fp8_backend),
    by_context("fp8_backend", read_fp8_backend),
    ignored("fp8_config", reasons::kWithOther),
    ignored("fp8_config.*", reasons::kWithOther),
    ignored("fp8_*", reasons::kWithOther),
    unsupported("use_megatron_lm", "Megatron-LM's own parallelism; give its launch line"),
    unsupported("megatron_lm_config.*", "Megatron-LM's own parallelism; give its launch line"),
    unsupported("megatron_lm_*", "Megatron-LM's own parallelism; give its launch line"),
    ignored("megatron_lm_config", reasons::kWithOther),
    ignored("compute_environment", reasons::kStart),
    ignored("machine_rank", reasons::kStart),
    ignored("num_machines", reasons::kStart),
    ignored("main_process_ip", reasons::kStart),
    ignored("main_process_port", reasons::kStart),
    ignored("rdzv_backend", reasons::kStart),
    ignored("rdzv_conf", reasons::kStart),
    ignored("same_network", reasons::kStart),
    ignored("main_training_function", reasons::kStart),
    ignored("enable_cpu_affinity", reasons::kStart),
    ignored("num_cpu_threads_per_process", reasons::kStart),
    ignored("gpu_ids", reasons::kStart),
    ignored("max_restarts", reasons::kStart),
    ignored("monitor_interval", reasons::kStart),
    ignored("role", reasons::kStart),
    ignored("module", reasons::kStart),
    ignored("no_python", reasons::kStart),
    ignored("m", reasons::kStart),
    ignored("config_file", reasons::kStart),
    ignored("mpirun_config", reasons::kStart),
    ignored("mpirun_config.*", reasons::kStart),
    ignored("mpirun_hostfile", reasons::kStart),
    ignored("env", reasons::kStart),
    ignored("tee", reasons::kStart),
    ignored("log_dir", reasons::kStart),
    ignored("quiet", reasons::kStart),
    ignored("debug", reasons::kStart),
    ignored("help", reasons::kStart),
    unsupported("use_cpu", "training would run on the host"),
    unsupported("cpu", "training would run on the host", "0"),
    unsupported("tpu", "training would run on TPUs"),
    unsupported("tpu_use_cluster", "training would run on TPUs"),
    unsupported("tpu_cluster", "training would run on TPUs"),
    ignored("tpu_*", reasons::kOtherDevice),
    ignored("no_tpu_cluster", reasons::kOtherDevice),
    ignored("downcast_bf16", reasons::kOtherDevice),
    ignored("vm", reasons::kOtherDevice),
    ignored("command_file", reasons::kOtherDevice),
    ignored("commands", reasons::kOtherDevice),
    ignored("aws_access_key_id", reasons::kStart),
    ignored("aws_secret_access_key", reasons::kStart),
    ignored("ec2_instance_type", reasons::kStart),
    ignored("iam_role_name", reasons::kStart),
    ignored("image_uri", reasons::kStart),
    ignored("profile", reasons::kStart),
    ignored("region", reasons::kStart),
    ignored("base_job_name", reasons::kStart),
    ignored("pytorch_version", reasons::kStart),
    ignored("transformers_version", reasons::kStart),
    ignored("py_version", reasons::kStart),
    ignored("sagemaker_*", reasons::kStart),
    ignored("additional_args", reasons::kStart),
};

constexpr auto kAccelerateRules = joined_rules(kAccelerateArguments, kFsdpRules);

/// A script of the user's own with accelerate; a script that is known says more.
void finish_accelerate(const SettingList& all, SourceKeys& keys) {
  const Sharding sharding = sharding_of(all);
  if (sharding == Sharding::deepspeed) {
    offer({"(framework)", "DeepSpeed's engine"}, "framework", "deepspeed", keys);
  } else if (sharding != Sharding::none) {
    offer({"(framework)", "accelerate"}, "framework", "accelerate-fsdp2", keys);
  }
  const bool has_file = first_like(all, "*deepspeed_config_file") != nullptr;
  if (sharding == Sharding::deepspeed && !has_file && first_like(all, "*zero_stage") == nullptr) {
    offer({"(zero_stage)", "2"}, "dp-kind", "zero2", keys);
  }
}

}  // namespace

const Program& accelerate() {
  static constexpr Program kProgram{.name = "accelerate",
                                    .releases = "accelerate 0.11 to 1.15",
                                    .rules = kAccelerateRules,
                                    .mark = "distributed_type",
                                    .finish = finish_accelerate};
  return kProgram;
}

/// `accelerate launch`: the script that it starts says which loop runs.
const Program& accelerate_launch() {
  static constexpr Program kProgram{
      .name = "accelerate", .releases = "accelerate 0.11 to 1.15", .rules = kAccelerateRules};
  return kProgram;
}

}  // namespace highwater::program_table
