// torchtitan's TOML files, December 2024 to February 2026. What it says in Python since then is
// torchtitan_python.cpp.
//
// Sources: torchtitan, torchtitan/config_manager.py (December 2024) to config/job_config.py
// (February 2026, 0.2.2); models/llama/__init__.py; models/llama3/infra/parallelize.py;
// distributed/pipeline_parallel.py; extensions: models/flux, components/ft, experiments.
#include <algorithm>
#include <array>
#include <string>

#include "workloads/plan/sources/programs/pytorch/torchtitan_keys.hpp"
#include "workloads/plan/sources/rules/program_table.hpp"
#include "workloads/plan/sources/rules/reasons.hpp"

namespace highwater::program_table {
namespace {

using namespace reasons;
using namespace titan_keys;

constexpr std::string_view kWithFaultTolerance = "read with fault_tolerance.enable only";
constexpr std::string_view kWithValidation = "read with validation.enable only";
constexpr std::string_view kWithConverter = "read with its name in model.converters only";
constexpr std::string_view kOwnCode = "code of your own, which is not read";
constexpr std::string_view kValidated = "batches without gradients run between the steps";
constexpr std::string_view kOverlapped = "products that overlap with collectives take buffers";
constexpr std::string_view kDeterministic =
    "other kernels of attention and embedding take workspaces";

constexpr std::array kTitanOptimizers{ValueWord{"AdamW", "adamw"}, ValueWord{"Adam", "adam"}};
constexpr std::array kTitanLoops{ValueWord{"fused", "fused"}, ValueWord{"foreach", "foreach"},
                                 ValueWord{"for-loop", "loop"}};
constexpr std::array kTitanFused{ValueWord{"true", "fused"}, ValueWord{"false", "foreach"}};
constexpr std::array kTitanTypes{ValueWord{"bfloat16", "bf16"}, ValueWord{"float32", "fp32"}};
constexpr std::array kTitanOffload{ValueWord{"true", "params"}, ValueWord{"false", ""}};

/// Of a launch line: the file's own keys stand before those of the line, if it is there.
bool lacks_file(const SettingList& all) {
  return all.find("job.config_file") != nullptr &&
         std::ranges::none_of(all.list(), [](const Setting& setting) {
           return setting.key.starts_with("model.") || setting.key.starts_with("training.");
         });
}

constexpr std::array kTitanRules{
    unsupported("module", "a configuration in Python; give what torchtitan_config.py prints"),
    unsupported("config", "a configuration in Python; give what torchtitan_config.py prints"),
    ignored("job.custom_config_module", kNames),
    ignored("job.config_file", "its keys follow if it is there"),
    ignored("job.*", kReports),
    ignored("profiling.*", kReports),
    ignored("profiler.*", kReports),
    ignored("metrics.*", kReports),
    ignored("model.name", "read with model.flavor"),
    by_context("model.flavor", read_flavor),
    unsupported("model.norm_type", "another norm keeps other tensors", "rmsnorm"),
    unsupported("model.attn_mask_type", "masks of packed documents", "causal"),
    by_context("model.use_flex_attn", read_own_attention),
    by_context("model.converters", read_converters),
    ignored("model.tokenizer_path", kNames),
    ignored("model.hf_assets_path", kNames),
    ignored("model.print_after_conversion", kReports),
    becomes("optimizer.name", "optimizer", kTitanOptimizers),
    becomes("optimizer.implementation", "optimizer-impl", kTitanLoops),
    becomes("optimizer.fused", "optimizer-impl", kTitanFused),
    by_context("optimizer.early_step_in_backward", read_in_backward),
    ignored("optimizer.*", kNumbers),
    ignored("lr_scheduler.*", kRate),
    by_context("training.batch_size", offer_batch),
    by_context("training.local_batch_size", offer_batch),
    by_context("training.global_batch_size", read_global_batch),
    becomes("training.seq_len", "seq"),
    by_context("training.max_norm", read_clip),
    ignored("training.warmup_steps", kRate),
    ignored("training.steps", kDuration),
    by_context("training.compile", read_compile),
    ignored("training.dataset*", kData),
    ignored("training.dataloader.*", kData),
    becomes("training.dtype", "precision", kTitanTypes),
    becomes("training.enable_cpu_offload", "offload", kTitanOffload),
    by_context("training.mixed_precision_param", read_parameter_type),
    becomes("training.mixed_precision_reduce", "reduce-dtype", kTitanTypes),
    ignored("training.gc_*", kHost),
    ignored("training.seed", kNumbers),
    unsupported("training.deterministic", kDeterministic),
    unsupported("training.debug_moe_force_load_balance", "tokens are spread evenly"),
    by_context("*.data_parallel_replicate_degree", read_copies),
    by_context("*.data_parallel_shard_degree", read_shards),
    by_context("*.tensor_parallel_degree", read_tensor_parallel),
    by_context("*able_loss_parallel", read_loss_parallel),
    by_context("*.fsdp_reshard_after_forward", read_reshard),
    unsupported("*.enable_async_tensor_parallel", kOverlapped),
    unsupported("*.enable_compiled_autograd", "the backward is compiled"),
    becomes("*.context_parallel_degree", "cp"),
    ignored("parallelism.context_parallel_load_balancer", "order of tokens only"),
    by_context("*.context_parallel_rotate_method", read_rotation),
    becomes("*.pipeline_parallel_degree", "pp"),
    by_context("*.pipeline_parallel_schedule", read_schedule),
    unsupported("*.pipeline_parallel_schedule_csv", "a schedule of your own"),
    by_context("*.pipeline_parallel_microbatches", read_micro_batches),
    by_context("*.pipeline_parallel_microbatch_size", read_micro_batches),
    by_context("*.pipeline_parallel_split_points", read_stage_layers),
    by_context("parallelism.module_fqns_per_model_part*", read_stage_layers),
    by_context("parallelism.pipeline_parallel_layers_per_stage", read_stage_layers),
    by_context("parallelism.pipeline_parallel_first_stage_less_layers", read_end_layers),
    by_context("parallelism.pipeline_parallel_last_stage_less_layers", read_end_layers),
    ignored("parallelism.pipeline_parallel_expert_parallel_overlap", "read with DualPipeV only"),
    becomes("parallelism.expert_parallel_degree", "ep"),
    unsupported("parallelism.expert_tensor_parallel_degree", "experts are split, too", "1"),
    unsupported("parallelism.expert_parallel_comm_backend", "tokens travel in other buffers",
                "standard"),
    ignored("checkpoint.*", kFiles),
    by_context("activation_checkpoint.mode", read_checkpointing),
    ignored("activation_checkpoint.selective_ac_option", "read with the mode"),
    unsupported("activation_checkpoint.per_op_sac_force_recompute_mm_shapes_by_fqns",
                "products of these layers are recomputed", "moe.router.gate"),
    unsupported("activation_checkpoint.early_stop", "recomputation stops before the block's end"),
    ignored("activation_checkpoint.memory_budget", "read with mode memory_budget only"),
    ignored("activation_checkpoint.*", kReports),
    by_context("compile.enable", read_compile),
    ignored("compile.components", "read with compile.enable"),
    unsupported("compile.*", "another compiler than Inductor's default", "inductor|aten"),
    becomes("float8.enable_float8_linear", "float8"),
    unsupported("float8.emulate", "float8 products in high precision"),
    unsupported("float8.enable_fsdp_float8_all_gather", "gathered parameters of one byte each"),
    ignored("float8.precompute_float8_dynamic_scale_for_fsdp", kSpeed),
    unsupported("float8.force_recompute_fp8_weight_in_bwd", "float8 weights are made twice"),
    by_context("float8.recipe_name", read_recipe),
    unsupported("float8.filter_fqns", "these layers stay out of float8", "output"),
    unsupported("float8.moe_fqns*", "experts in float8"),
    unsupported("float8.scaling_type_*", "histories of maxima are kept", "dynamic"),
    ignored("mx.*", kWithConverter),
    by_context("quantize.linear.float8.recipe_name", read_recipe),
    by_context("quantize.dense.float8.recipe_name", read_recipe),
    unsupported("quantize.*.float8.emulate", "float8 products in high precision"),
    unsupported("quantize.*.float8.enable_fsdp_float8_all_gather",
                "gathered parameters of one byte each"),
    unsupported("quantize.linear.float8.filter_fqns", "these layers stay out of float8", "output"),
    ignored("quantize.*", kWithConverter),
    by_context("comm.mode", read_comm_mode),
    ignored("comm.*", kCollectives),
    unsupported("memory_estimation.enable", "nothing is trained: an estimate is printed"),
    unsupported("memory_estimation.enabled", "nothing is trained: an estimate is printed"),
    ignored("memory_estimation.*", "read with memory_estimation.enable only"),
    unsupported("fault_tolerance.enable", "torchft keeps copies of parameters"),
    ignored("fault_tolerance.*", kWithFaultTolerance),
    ignored("experimental.custom_args_module", kNames),
    unsupported("experimental.custom_import", kOwnCode),
    unsupported("experimental.custom_model_path", kOwnCode),
    unsupported("experimental.*", "an experimental compiler", "aten"),
    unsupported("validation.enable", kValidated),
    unsupported("validation.enabled", kValidated),
    ignored("validation.*", kWithValidation),
    ignored("debug.seed", kNumbers),
    unsupported("debug.deterministic", kDeterministic),
    unsupported("debug.moe_force_load_balance", "tokens are spread evenly"),
    ignored("debug.*", kReports),
    // Extensions: Flux, its images and encoders; experiments.
    ignored("training.classif*er_free_guidance_prob", kNumbers),
    ignored("training.guidance", kNumbers),
    ignored("training.test_mode", kReports),
    becomes("training.img_size", "image-size"),
    unsupported("encoder.*", "the encoders of Flux beside the model"),
    ignored("eval.*", kReports),
    ignored("inference.*", kInference),
    unsupported("data.*", "images beside the text"),
    unsupported("hf_transformers.model", "a model of transformers in torchtitan's trainer"),
};

void add_defaults(const SettingList& all, SourceKeys& keys) {
  if (all.find("training.batch_size") == nullptr &&
      all.find("training.local_batch_size") == nullptr) {
    offer_batch({"training.local_batch_size", "8"}, all, keys);
  }
  if (all.find("training.seq_len") == nullptr) {
    offer({"training.seq_len", "2048"}, "seq", "2048", keys);
  }
  if (all.find("activation_checkpoint.mode") == nullptr) {
    read_checkpointing({"activation_checkpoint.mode", "selective"}, all, keys);
  }
  if (all.find("model.flavor") == nullptr) {
    read_flavor({"model.flavor", "debugmodel"}, all, keys);
  }
}

/// The code between January 2025 and 0.2.2 is that of --torchtitan 0.0 with these differences.
void add_later_code(const SettingList& all, SourceKeys& keys) {
  const bool sets_loop =
      all.find("optimizer.implementation") != nullptr || all.find("optimizer.fused") != nullptr;
  if (!is_of_2024(all) && !sets_loop) {
    offer({"optimizer.implementation", "fused"}, "optimizer-impl", "fused", keys);
  }
  const bool is_ddp = degree_of(all, "data_parallel_replicate_degree") > 1 &&
                      degree_of(all, "data_parallel_shard_degree") == 1;
  if (has_unit_ends(all) && !is_ddp) {
    offer({"(release)", "since July 2025"}, "fsdp-units", "ends", keys);
    const Setting* const policy = find_moved(all, "fsdp_reshard_after_forward");
    if ((policy == nullptr || policy->value == "default") && !has_stages(all)) {
      offer({"(release)", "since July 2025"}, "reshard", "always", keys);
    }
  }
  if (is_ddp && all.find("training.local_batch_size") != nullptr) {
    offer({"(release)", "DDP since June 2025"}, "precision", "amp-bf16", keys);
  }
}

void finish_torchtitan(const SettingList& all, SourceKeys& keys) {
  offer({"(torchtitan)", "TOML"}, "framework", "torchtitan", keys);
  offer({"(torchtitan)", "TOML"}, "torchtitan", "0.0", keys);
  if (lacks_file(all)) {
    keys.add_not_supported("(job.config_file)", all.text("job.config_file").value_or(""),
                           "the file is not there; give it as well, with another --from", "model");
  } else {
    add_defaults(all, keys);
  }
  add_later_code(all, keys);
}

}  // namespace

const Program& torchtitan() {
  static constexpr std::array<std::string_view, 3> kScripts{"run_train.sh", "torchtitan.train",
                                                            "run_llama_train.sh"};
  static constexpr Program kProgram{.name = "torchtitan",
                                    .releases = "torchtitan of December 2024 to 0.2.2",
                                    .rules = kTitanRules,
                                    .scripts = kScripts,
                                    .finish = finish_torchtitan};
  return kProgram;
}

}  // namespace highwater::program_table
