// The `deepspeed` launcher, and DeepSpeedExamples' scripts.
//
// Source: deepspeed 0.19.8 launcher/runner.py; DeepSpeedExamples of 2026
// applications/DeepSpeed-Chat/training/step1_supervised_finetuning/main.py,
// training/DeepSpeed-SuperOffload/finetune_zero3.py,
// training/DeepSpeed-ZenFlow/finetuning/finetune_llama.py.
#include <algorithm>
#include <array>
#include <string>

#include "workloads/plan/sources/programs/hugging_face/deepspeed_readers.hpp"
#include "workloads/plan/sources/programs/hugging_face/key_reasons.hpp"
#include "workloads/plan/sources/programs/hugging_face/settings_facts.hpp"
#include "workloads/plan/sources/programs/hugging_face/training_arguments.hpp"
#include "workloads/plan/sources/rules/program_table.hpp"

namespace highwater::program_table {
namespace {

/// launcher/runner.py: GPUs of each node; -1 is all that there are.
void read_ds_gpus(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const auto each = whole_number(setting.value);
  const auto nodes = whole_number(text_of(all, {"num_nodes"}).value_or("1"));
  if (each && nodes && *each > 0 && *nodes > 0) {
    offer(setting, "gpus", std::to_string(*each * *nodes), keys);
  } else {
    keys.add_not_supported(setting.key, setting.value, "the number of GPUs; give --dp", "dp");
  }
}

/// "host1@host2:0,2": only named slots can be counted.
void read_ds_include(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  std::int64_t slots = 0;
  bool is_listed = true;
  std::string_view rest = setting.value;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('@'), rest.size());
    const std::string_view host = rest.substr(0, end);
    const std::size_t colon = host.find(':');
    is_listed = is_listed && colon != std::string_view::npos;
    slots += 1 + std::ranges::count(host, ',');
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (is_listed && slots > 0) {
    offer(setting, "gpus", std::to_string(slots), keys);
  } else {
    keys.add_not_supported(setting.key, setting.value, "the number of GPUs; give --dp", "dp");
  }
}

void read_offload_flag(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (says_no(setting)) {
    note_off(setting, keys);
  } else if (zero_stage_of(all) == 0) {
    keys.add_no_effect(setting.key, setting.value, "read with stages 1 to 3 only");
  } else {
    offer(setting, "offload", zero_stage_of(all) == 3 ? "both" : "optimizer", keys);
  }
}

void read_ds_dtype(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  offer(setting, "precision", setting.value == "bf16" ? "bf16" : "fp16", keys);
}

/// Of reward models alone, with whatever value.
void read_reward_key(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  read_other_trainer({.key = setting.key, .value = "true"}, all, keys);
}

constexpr std::array kDeepspeedLauncher{
    by_context("num_gpus", read_ds_gpus),
    by_context("num_accelerators", read_ds_gpus),
    by_context("include", read_ds_include),
    by_context("i", read_ds_include),
    ignored("num_nodes", reasons::kStart),
    ignored("hostfile", reasons::kStart),
    ignored("H", reasons::kStart),
    ignored("exclude", reasons::kStart),
    ignored("e", reasons::kStart),
    ignored("master_port", reasons::kStart),
    ignored("master_addr", reasons::kStart),
    ignored("node_rank", reasons::kStart),
    ignored("launcher", reasons::kStart),
    ignored("launcher_args", reasons::kStart),
    ignored("module", reasons::kStart),
    ignored("no_python", reasons::kStart),
    ignored("no_local_rank", reasons::kStart),
    ignored("no_ssh", reasons::kStart),
    ignored("no_ssh_check", reasons::kStart),
    ignored("force_multi", reasons::kStart),
    ignored("save_pid", reasons::kStart),
    ignored("bind_cores_to_rank", reasons::kStart),
    ignored("bind_core_list", reasons::kStart),
    ignored("ssh_port", reasons::kStart),
    ignored("venv_script", reasons::kStart),
    ignored("enable_each_rank_log", reasons::kReports),
    ignored("log_level", reasons::kReports),
    ignored("quiet", reasons::kReports),
    ignored("q", reasons::kReports),
    unsupported("autotuning", "the autotuner chooses stage and batch"),
};

constexpr std::array kDeepspeedScriptCheckpointWords{ValueWord{"true", "full"},
                                                     ValueWord{"false", "none"}};
constexpr std::array kDeepspeedScripts{
    by_context("model_name", read_model),
    by_context("dtype", read_ds_dtype),
    by_context("model_name_or_path", read_model),
    by_context("torch_dtype", read_dtype),
    by_context("attn_implementation", read_attention),
    ignored("tokenizer_name", reasons::kTokenizer),
    ignored("tokenizer_name_or_path", reasons::kTokenizer),
    ignored("use_fast_tokenizer", reasons::kTokenizer),
    ignored("cache_dir", reasons::kNames),
    ignored("model_revision", reasons::kNames),
    ignored("token", reasons::kNames),
    ignored("use_auth_token", reasons::kNames),
    ignored("trust_remote_code", reasons::kNames),
    ignored("low_cpu_mem_usage", reasons::kHost),
    becomes("per_device_train_batch_size", "batch"),
    becomes("batch_size", "batch"),
    becomes("gradient_accumulation_steps", "grad-accum"),
    becomes("max_seq_len", "seq"),
    becomes("max_length", "seq"),
    becomes("seq_length", "seq"),
    by_context("zero_stage", read_zero_stage),
    by_context("offload", read_offload_flag),
    becomes("gradient_checkpointing", "checkpoint", kDeepspeedScriptCheckpointWords),
    becomes("activation_checkpointing", "checkpoint", kDeepspeedScriptCheckpointWords),
    // DeepSpeed-Chat's second and third steps.
    by_context("num_padding_at_beginning", read_reward_key),
    by_context("actor_model_name_or_path", read_other_trainer),
    by_context("critic_model_name_or_path", read_other_trainer),
    unsupported("lora_dim", "DeepSpeed-Chat's own adapters beside a model that is trained", "0"),
    unsupported("only_optimize_lora", "only the adapters are trained"),
    ignored("lora_module_name", reasons::kWithOther),
    ignored("lora_learning_rate", reasons::kWithOther),
    becomes("dropout", "dropout"),
    unsupported("compute_fp32_loss", "the loss is computed in fp32"),
    unsupported("add_eot_token", "one more row in the embedding"),
    by_context("deepspeed_config", read_deepspeed),
    ignored("data_path", reasons::kData),
    ignored("data_split", reasons::kData),
    ignored("data_output_path", reasons::kData),
    ignored("sft_only_data_path", reasons::kData),
    ignored("end_of_conversation_token", reasons::kData),
    ignored("dataset_name", reasons::kData),
    ignored("dataset_percentage", reasons::kData),
    ignored("num_warmup_steps", reasons::kData),
    ignored("per_device_eval_batch_size", reasons::kData),
    ignored("inference_tp_size", reasons::kData),
    ignored("print_loss", reasons::kData),
    ignored("learning_rate", reasons::kNumbers),
    ignored("lr", reasons::kNumbers),
    ignored("weight_decay", reasons::kNumbers),
    ignored("lr_scheduler_type", reasons::kNumbers),
    ignored("warmup", reasons::kNumbers),
    ignored("seed", reasons::kNumbers),
    ignored("num_train_epochs", reasons::kDuration),
    ignored("bench_steps", reasons::kDuration),
    ignored("warmup_steps", reasons::kDuration),
    ignored("steps", reasons::kDuration),
    ignored("output_dir", reasons::kFiles),
    ignored("save_checkpoint", reasons::kFiles),
    ignored("enable_tensorboard", reasons::kReports),
    ignored("tensorboard_path", reasons::kReports),
    ignored("log_interval", reasons::kReports),
    ignored("use_wandb", reasons::kReports),
    ignored("wandb_project", reasons::kReports),
    ignored("wandb_run_name", reasons::kReports),
    ignored("wandb_name", reasons::kReports),
    ignored("log_dir", reasons::kReports),
    ignored("local_rank", reasons::kStart),
    ignored("deepspeed", reasons::kStart),
    ignored("pipeline_parallel_size", reasons::kStart),
    ignored("backend", reasons::kStart),
    ignored("p", reasons::kStart),
    unsupported("deterministic", "cuBLAS gets smaller workspaces (CUBLAS_WORKSPACE_CONFIG)"),
    unsupported("leaf_module", "modules that are gathered whole", "none"),
};

/// dschat/utils/ds_utils.py get_train_ds_config; FusedAdam in main.py.
void finish_deepspeed_chat(const SettingList& all, SourceKeys& keys) {
  offer({"(framework)", "DeepSpeed's engine"}, "framework", "deepspeed", keys);
  const Setting own{"(get_train_ds_config)", "its own settings"};
  if (zero_stage_of(all) > 0) {
    offer(own, "overlap-comm", "true", keys);
  }
  if (zero_stage_of(all) == 3) {
    offer(own, "param-persistence-threshold", "10000", keys);
    offer(own, "max-live-parameters", "30000000", keys);
    offer(own, "prefetch-bucket-size", "30000000", keys);
    offer(own, "zero-init", "true", keys);
  }
  offer(own, "grad-clip", "1", keys);
  offer(own, "optimizer-impl", "fused", keys);
}

void finish_deepspeed_script(const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  offer({"(framework)", "DeepSpeed's engine"}, "framework", "deepspeed", keys);
}

}  // namespace

const Program& deepspeed_launcher() {
  static constexpr Program kProgram{
      .name = "deepspeed", .releases = "deepspeed 0.9 to 0.19", .rules = kDeepspeedLauncher};
  return kProgram;
}

const Program& deepspeed_chat() {
  static constexpr std::array<std::string_view, 1> kScripts{"main.py"};
  static constexpr std::array kDefaults{
      ProgramDefault{"per_device_train_batch_size", "16"}, ProgramDefault{"max_seq_len", "512"},
      ProgramDefault{"zero_stage", "0"}, ProgramDefault{"dtype", "fp16"}};
  static constexpr Program kProgram{.name = "deepspeed-chat",
                                    .releases = "DeepSpeedExamples of 2026",
                                    .rules = kDeepspeedScripts,
                                    .scripts = kScripts,
                                    .defaults = kDefaults,
                                    .finish = finish_deepspeed_chat};
  return kProgram;
}

const Program& deepspeed_scripts() {
  static constexpr std::array<std::string_view, 2> kScripts{"finetune_zero3.py",
                                                            "finetune_llama.py"};
  static constexpr Program kProgram{.name = "deepspeed scripts",
                                    .releases = "DeepSpeedExamples of 2026",
                                    .rules = kDeepspeedScripts,
                                    .scripts = kScripts,
                                    .finish = finish_deepspeed_script};
  return kProgram;
}

}  // namespace highwater::program_table
