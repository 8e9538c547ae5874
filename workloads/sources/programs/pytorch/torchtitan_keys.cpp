#include "workloads/sources/programs/pytorch/torchtitan_keys.hpp"

#include <array>
#include <string>

#include <fmt/format.h>

#include "workloads/sources/rules/decoder_facts.hpp"

namespace highwater::program_table::titan_keys {
namespace {

constexpr std::string_view kOwnStages = "stages with layers of your own choice";

/// dim 256, 16 heads; the tokenizer of the tests has 2,000 tokens and 256 special ones.
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

}  // namespace

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

bool has_unit_ends(const SettingList& all) {
  return all.find("model.hf_assets_path") != nullptr || all.find("compile.enable") != nullptr;
}

bool is_of_2024(const SettingList& all) {
  return all.find("training.data_parallel_shard_degree") != nullptr ||
         all.find("training.data_parallel_degree") != nullptr ||
         all.find("optimizer.fused") != nullptr || all.find("training.warmup_steps") != nullptr;
}

void read_flavor(const Setting& flavor, const SettingList& all, SourceKeys& keys) {
  const std::string name = all.text("model.name").value_or("llama3");
  const std::string word = titan_model(name, flavor.value, all);
  if (word.empty()) {
    keys.add_not_supported(flavor.key, name + " " + flavor.value,
                           "of torchtitan's models the simulation has Llama 2 and 3 alone; give "
                           "--model, or record the run (highwater record)",
                           "model");
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
    keys.add_not_supported(setting.key, setting.value,
                           "all ranks that other degrees leave; give --dp", "dp");
  } else if (shards == 1 && copies > 1) {
    offer(setting, "dp-kind", "ddp", keys);
    offer(setting, "bucket-cap-mb", "100", keys);
    offer(setting, "dp", std::to_string(copies), keys);
  } else {
    offer(setting, "dp", std::to_string(copies * shards), keys);
  }
}

/// Until October 2024 all data-parallel ranks either shared the model or repeated it
/// (parallelisms/parallelize_llama.py).
void read_data_parallel_type(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const Setting* const degree = all.find("training.data_parallel_degree");
  if (setting.value == "fsdp" || (degree != nullptr && degree->value == "1")) {
    keys.add_no_effect(setting.key, setting.value, "as it is here");
  } else {
    offer(setting, "dp-kind", setting.value, keys);
    offer(setting, "bucket-cap-mb", "100", keys);
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
    keys.add_not_supported(setting.key, setting.value, "keys and values of all ranks at once",
                           MemorySign::more);
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

}  // namespace highwater::program_table::titan_keys
