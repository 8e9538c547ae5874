// torchtitan's TOML files, December 2024 to February 2026. What it says in Python since then is
// torchtitan_python.cpp.
//
// Sources: torchtitan, torchtitan/config_manager.py (December 2024) to config/job_config.py
// (February 2026, 0.2.2); models/llama/__init__.py; models/llama3/infra/parallelize.py;
// distributed/pipeline_parallel.py; extensions: models/flux, components/ft, experiments.
#include <array>
#include <string>

#include <fmt/format.h>

#include "workloads/plan/sources/rules/decoder_facts.hpp"
#include "workloads/plan/sources/rules/program_table.hpp"
#include "workloads/plan/sources/rules/reasons.hpp"

namespace highwater::program_table {
namespace {

using namespace reasons;

constexpr std::string_view kWithFaultTolerance = "read with fault_tolerance.enable only";
constexpr std::string_view kWithValidation = "read with validation.enable only";
constexpr std::string_view kWithConverter = "read with its name in model.converters only";
constexpr std::string_view kOwnStages = "stages with layers of your own choice";
constexpr std::string_view kOwnCode = "code of your own, which is not read";
constexpr std::string_view kValidated = "batches without gradients run between the steps";
constexpr std::string_view kOverlapped = "products that overlap with collectives take buffers";
constexpr std::string_view kDeterministic =
    "other kernels of attention and embedding take workspaces";

/// A key that moved from one section to another.
const Setting* find_moved(const SettingList& all, std::string_view name) {
  constexpr std::array<std::string_view, 3> kSections{"parallelism", "training", "experimental"};
  for (const std::string_view section : kSections) {
    if (const Setting* const found = all.find(fmt::format("{}.{}", section, name))) {
      return found;
    }
  }
  return nullptr;
}

std::int64_t degree_of(const SettingList& all, std::string_view name) {
  const Setting* const found = find_moved(all, name);
  return found == nullptr ? 1 : all.whole(found->key).value_or(1);
}

/// model.hf_assets_path and the section compile came in August 2025, after the embedding and the
/// head had become units of their own (28 July 2025).
bool has_unit_ends(const SettingList& all) {
  return all.find("model.hf_assets_path") != nullptr || all.find("compile.enable") != nullptr;
}

/// optimizer.implementation and the section parallelism are of February and March 2025.
bool is_of_2024(const SettingList& all) {
  return all.find("training.data_parallel_shard_degree") != nullptr ||
         all.find("optimizer.fused") != nullptr || all.find("training.warmup_steps") != nullptr;
}

/// dim 256, 16 heads; the tokenizer of the tests has 2,000 words and 256 special ones.
std::string debug_model(const SettingList& all) {
  return decoder_word({.layers = is_of_2024(all) ? 8 : 6,
                       .hidden = 256,
                       .heads = 16,
                       .ffn = 768,
                       .vocab = has_unit_ends(all) ? 2048 : 2256,
                       .is_gated = true,
                       .has_rms_norm = true,
                       .has_rotary = true})
      .value_or("");
}

struct TitanModel {
  std::string_view flavor;
  std::string_view llama2;
  std::string_view llama3;
};

constexpr std::array kTitanModels{
    TitanModel{"7B", "llama-2-7b", ""}, TitanModel{"8B", "", "llama-3-8b"},
    TitanModel{"13B", "llama-2-13b", ""}, TitanModel{"70B", "llama-2-70b", "llama-3-70b"},
    TitanModel{"405B", "", "llama-3.1-405b"}};

std::string titan_model(const std::string& name, const std::string& flavor,
                        const SettingList& all) {
  const std::string size = flavor.substr(0, flavor.find('_'));  // 8B_flex
  const bool is_llama2 = name == "llama2";
  if (!is_llama2 && name.find("llama3") == std::string::npos) {
    return "";
  }
  if (size == "debugmodel") {
    return debug_model(all);
  }
  for (const TitanModel& row : kTitanModels) {
    if (row.flavor == size) {
      return std::string(is_llama2 ? row.llama2 : row.llama3);
    }
  }
  return "";
}

void read_flavor(const Setting& flavor, const SettingList& all, SourceKeys& keys) {
  const std::string name = all.text("model.name").value_or("llama3");
  const std::string word = titan_model(name, flavor.value, all);
  if (word.empty()) {
    keys.add_not_supported(flavor.key, name + " " + flavor.value,
                           "of torchtitan's models the simulation has Llama 2 and 3 alone");
    return;
  }
  offer(flavor, "model", word, keys);
  if (flavor.value.ends_with("_flex") || flavor.value.ends_with("_flex_attn")) {
    offer(flavor, "attention", "flex", keys);
  } else if (flavor.value.ends_with("_varlen") || flavor.value.ends_with("_varlen_attn")) {
    keys.add_not_supported(flavor.key, flavor.value, "attention by document (varlen)");
  }
}

void read_own_attention(const Setting& setting, const SettingList& /*all*/, SourceKeys& keys) {
  if (setting.value == "true") {
    offer(setting, "attention", "flex", keys);
  } else {
    keys.add_no_effect(setting.key, setting.value, "off, as it is here");
  }
}

void read_converters(const Setting& setting, const SettingList& /*all*/, SourceKeys& keys) {
  if (setting.items.empty() && setting.value.empty()) {
    keys.add_no_effect(setting.key, setting.value, "none");
    return;
  }
  const bool is_float8 = setting.value == "float8" || setting.value == "quantize.linear.float8" ||
                         setting.value == "quantize.dense.float8";
  if (is_float8) {
    offer(setting, "float8", "true", keys);
  } else {
    keys.add_not_supported(setting.key, setting.value, "products in other formats");
  }
}

void read_recipe(const Setting& setting, const SettingList& /*all*/, SourceKeys& keys) {
  if (setting.value.empty() || setting.value == "tensorwise" || setting.kind == SettingKind::null) {
    keys.add_no_effect(setting.key, setting.value, "one scale a tensor, as it is here");
  } else {
    keys.add_not_supported(setting.key, setting.value, "float8 with one scale a row");
  }
}

void read_checkpointing(const Setting& mode, const SettingList& all, SourceKeys& keys) {
  const std::string option = all.text("activation_checkpoint.selective_ac_option").value_or("2");
  if (mode.value == "memory_budget") {
    keys.add_not_supported(mode.key, mode.value,
                           "the compiler keeps activations up to a share of them");
  } else if (mode.value != "selective") {
    offer(mode, "checkpoint", mode.value, keys);
  } else if (option == "op") {
    offer(mode, "checkpoint", "selective-op", keys);
  } else {
    offer(mode, "checkpoint", option == "0" || option == "1" ? "full" : "every-" + option, keys);
  }
}

/// S ranks share what R ranks repeat; -1: all ranks that the other degrees leave.
void read_shards(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const std::int64_t copies = degree_of(all, "data_parallel_replicate_degree");
  const std::int64_t shards = all.whole(setting.key).value_or(-1);
  if (shards < 0) {
    keys.add_no_effect(setting.key, setting.value, "all ranks that are left (--dp)");
  } else if (shards == 1 && copies > 1) {
    offer(setting, "dp-kind", "ddp", keys);
    offer(setting, "bucket-cap-mb", "100", keys);
    offer(setting, "dp", std::to_string(copies), keys);
  } else {
    offer(setting, "dp", std::to_string(copies * shards), keys);
  }
}

void read_copies(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const std::int64_t shards = find_moved(all, "data_parallel_shard_degree") == nullptr
                                  ? -1
                                  : degree_of(all, "data_parallel_shard_degree");
  if (setting.value == "1") {
    keys.add_no_effect(setting.key, setting.value, "one copy, as it is here");
  } else if (shards == 1) {
    keys.add_no_effect(setting.key, setting.value, "read with data_parallel_shard_degree");
  } else {
    offer(setting, "dp-replicate", setting.value, keys);
  }
}

void read_tensor_parallel(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  offer(setting, "tp", setting.value, keys);
  if (all.whole(setting.key).value_or(1) > 1) {
    const Setting* const off = find_moved(all, "disable_loss_parallel");
    offer(setting, "tp-kind", "dtensor", keys);
    offer(setting, "sp", "true", keys);
    offer(setting, "loss-parallel", off != nullptr && off->value == "true" ? "false" : "true",
          keys);
  }
}

/// DTensors of the loss exist only under tensor parallelism.
void read_loss_parallel(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const bool is_named_off = setting.key.ends_with("disable_loss_parallel");
  const bool is_on = (setting.value == "true") != is_named_off;
  if (degree_of(all, "tensor_parallel_degree") > 1) {
    offer(setting, "loss-parallel", is_on ? "true" : "false", keys);
  } else {
    keys.add_no_effect(setting.key, setting.value, "no tensor parallelism");
  }
}

void read_reshard(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (setting.value == "always") {
    offer(setting, "reshard", has_unit_ends(all) ? "all" : "always", keys);
  } else if (setting.value == "never") {
    offer(setting, "reshard", "never", keys);
  } else {
    keys.add_no_effect(setting.key, setting.value, "the default here as well");
  }
}

bool has_stages(const SettingList& all) {
  return degree_of(all, "pipeline_parallel_degree") > 1;
}

void read_schedule(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  constexpr std::array kTitanSchedules{ValueWord{"1F1B", "1f1b"}, ValueWord{"GPipe", "gpipe"},
                                       ValueWord{"Interleaved1F1B", "interleaved"}};
  if (!has_stages(all)) {
    keys.add_no_effect(setting.key, setting.value, "one stage");
    return;
  }
  for (const ValueWord& row : kTitanSchedules) {
    if (is_same_key(row.value, setting.value)) {
      offer(setting, "pp-schedule", std::string(row.word), keys);
      return;
    }
  }
  keys.add_not_supported(setting.key, setting.value, "another order of micro-batches");
}

void read_stage_layers(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (!has_stages(all)) {
    keys.add_no_effect(setting.key, setting.value, "one stage");
  } else {
    keys.add_not_supported(setting.key, setting.value, std::string(kOwnStages));
  }
}

/// The first and last stage have a layer fewer by default, for the embedding and the head.
void read_end_layers(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (!has_stages(all) || setting.value == "0") {
    keys.add_no_effect(setting.key, setting.value, has_stages(all) ? "even stages" : "one stage");
  } else {
    keys.add_not_supported(setting.key, setting.value, "fewer layers in the first or last stage");
  }
}

std::int64_t local_batch(const SettingList& all) {
  constexpr std::int64_t kDefault = 8;
  return all.whole("training.local_batch_size")
      .value_or(all.whole("training.batch_size").value_or(kDefault));
}

/// Micro-batches of a pipeline: their number (until April 2025) or their size.
std::int64_t stage_micro_batches(const SettingList& all) {
  const Setting* const number = find_moved(all, "pipeline_parallel_microbatches");
  if (number != nullptr || is_of_2024(all)) {
    return number == nullptr ? degree_of(all, "pipeline_parallel_degree")
                             : all.whole(number->key).value_or(1);
  }
  const std::int64_t size = degree_of(all, "pipeline_parallel_microbatch_size");
  return size > 0 ? local_batch(all) / size : 1;
}

void offer_batch(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const std::int64_t parts = has_stages(all) ? stage_micro_batches(all) : 1;
  const std::int64_t batch = local_batch(all);
  if (parts < 1 || batch % parts != 0) {
    keys.add_not_supported(setting.key, setting.value,
                           fmt::format("{} micro-batches of {} sequences", parts, batch));
    return;
  }
  offer(setting, "batch", std::to_string(batch / parts), keys);
  if (has_stages(all)) {
    offer(setting, "grad-accum", std::to_string(parts), keys);
  }
}

void read_micro_batches(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  keys.add_no_effect(setting.key, setting.value,
                     has_stages(all) ? "read with the batch" : "one stage");
}

void read_global_batch(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (setting.value == "-1") {
    keys.add_no_effect(setting.key, setting.value, "one micro-batch a step");
  } else if (has_stages(all)) {
    keys.add_not_supported(setting.key, setting.value, "several passes of a pipeline a step");
  } else {
    offer(setting, "global-batch", setting.value, keys);
  }
}

void read_compile(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const std::string components = all.text("compile.components").value_or("model,loss");
  if (setting.value != "true") {
    keys.add_no_effect(setting.key, setting.value, "off, as it is here");
  } else if (components.find("model") == std::string::npos) {
    keys.add_not_supported(setting.key, setting.value, "the loss alone is compiled");
  } else {
    offer(setting, "compile", "true", keys);
  }
}

void read_parameter_type(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const bool is_half = setting.value == "bfloat16";
  const bool is_ddp = degree_of(all, "data_parallel_replicate_degree") > 1 &&
                      degree_of(all, "data_parallel_shard_degree") == 1;
  if (!is_ddp) {
    offer(setting, "param-dtype", is_half ? "bf16" : "fp32", keys);
  } else {
    keys.add_no_effect(setting.key, setting.value, "FSDP's alone");
  }
}

void read_in_backward(const Setting& setting, const SettingList& /*all*/, SourceKeys& keys) {
  if (setting.value == "true") {
    offer(setting, "optimizer-in-backward", "true", keys);
    offer(setting, "grad-clip", "none", keys);
  } else {
    keys.add_no_effect(setting.key, setting.value, "off, as it is here");
  }
}

/// Clipping is not compatible with an optimizer in the backward.
void read_clip(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (all.is_on("optimizer.early_step_in_backward")) {
    keys.add_no_effect(setting.key, setting.value, "no clipping with early_step_in_backward");
  } else {
    offer(setting, "grad-clip", setting.value, keys);
  }
}

void read_rotation(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (degree_of(all, "context_parallel_degree") == 1 || setting.value == "alltoall") {
    keys.add_no_effect(setting.key, setting.value, "how parts of sequences travel");
  } else {
    keys.add_not_supported(setting.key, setting.value, "keys and values of all ranks at once");
  }
}

void read_comm_mode(const Setting& setting, const SettingList& /*all*/, SourceKeys& keys) {
  if (setting.value == "fake_backend") {
    offer(setting, "backend", "fake", keys);
  } else if (setting.value == "default") {
    keys.add_no_effect(setting.key, setting.value, "the default here as well");
  } else {
    keys.add_not_supported(setting.key, setting.value, "one process in place of all ranks");
  }
}

constexpr std::array kTitanOptimizers{ValueWord{"AdamW", "adamw"}, ValueWord{"Adam", "adam"}};
constexpr std::array kTitanLoops{ValueWord{"fused", "fused"}, ValueWord{"foreach", "foreach"},
                                 ValueWord{"for-loop", "loop"}};
constexpr std::array kTitanFused{ValueWord{"true", "fused"}, ValueWord{"false", "foreach"}};
constexpr std::array kTitanTypes{ValueWord{"bfloat16", "bf16"}, ValueWord{"float32", "fp32"}};
constexpr std::array kTitanOffload{ValueWord{"true", "params"}, ValueWord{"false", ""}};

constexpr std::array kTitanRules{
    ignored("job.custom_config_module", kNames),
    ignored("job.*", kReports),
    ignored("profiling.*", kReports),
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
  add_defaults(all, keys);
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
