// W&B's config.yaml of a run of transformers' Trainer.
//
// Source: transformers 5.24 and 4.57.6, integrations/integration_utils.py WandbCallback.setup: the
// model's configuration, PEFT's and TrainingArguments in one list, so the model is there with all
// its sizes.
#include <array>
#include <string>

#include <boost/json.hpp>

#include "traces/error.hpp"
#include "workloads/plan/catalog/presets.hpp"
#include "workloads/sources/programs/hugging_face/hub_models.hpp"
#include "workloads/sources/programs/hugging_face/hugging_face.hpp"
#include "workloads/sources/programs/hugging_face/settings_facts.hpp"
#include "workloads/sources/rules/program_table.hpp"

namespace highwater::program_table {
namespace {

constexpr std::string_view kName = "_name_or_path";

boost::json::value as_json(const Setting& setting) {
  if (setting.kind == SettingKind::null) {
    return nullptr;
  }
  if (setting.kind == SettingKind::boolean) {
    return setting.value == "true";
  }
  if (setting.kind == SettingKind::number) {
    return boost::json::parse(setting.value);
  }
  return boost::json::value(setting.value);
}

/// The model's config.json: what is no argument of Trainer. Lists and nested parts describe no
/// sizes of the families here.
std::string config_of(const SettingList& all) {
  static const KeyTable kArguments = key_table("training_arguments", {hugging_face_readers()});
  boost::json::object config;
  for (const Setting& setting : all.list()) {
    const bool is_flat = setting.key.find('.') == std::string::npos &&
                         setting.kind != SettingKind::list && !setting.key.starts_with('_');
    if (is_flat && kArguments.find(setting.key) == nullptr) {
      config[setting.key] = as_json(setting);
    }
  }
  return boost::json::serialize(config);
}

void read_wandb_model(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const std::string named = preset_of(text_of(all, {kName}).value_or(""));
  const bool is_known = find_model_preset(named) != nullptr;
  offer(setting, "model", is_known ? named : config_of(all), keys);
}

void read_wandb_task(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  const bool is_task = setting.key.ends_with("task_type");
  if (is_task ? setting.value != "CAUSAL_LM" && !says_no(setting) : !says_no(setting)) {
    throw InputError("", setting.key + " " + setting.value,
                     "only language models that predict the next token are simulated from such a "
                     "file",
                     "give --model and options for what the run takes");
  }
  keys.add_no_effect(setting.key, setting.value, "cross entropy over tokens, as simulated");
}

/// transformers 4's configurations have a max_length of 20, which generation reads.
void read_wandb_length(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const bool is_generation = is_same_key(setting.key, "max_length") && setting.value == "20";
  if (is_generation || says_no(setting)) {
    keys.add_no_effect(setting.key, setting.value, "read for inference only");
  } else {
    read_length(setting, all, keys);
  }
}

/// Mappings stand in older files as Python wrote them, which is no JSON.
void read_wandb_mapping(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const bool is_fsdp = is_same_key(setting.key, "fsdp_config");
  if (says_no(setting) || (is_fsdp && !is_any_on(all, {"fsdp"}))) {
    note_off(setting, keys);
  } else if (!setting.value.starts_with('{')) {
    is_fsdp ? read_fsdp_file(setting, all, keys) : read_deepspeed(setting, all, keys);
  } else {
    keys.add_not_supported(setting.key, setting.value,
                           "a mapping as Python writes it; give its own file with a second --from",
                           "dp-kind");
  }
}

SettingList with_adapter(const SettingList& all) {
  SettingList told = all;
  told.add({.key = "use_lora", .value = "true", .kind = SettingKind::boolean});
  return told;
}

void read_wandb_lora(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  read_lora_key(setting, with_adapter(all), keys);
}

void finish_wandb(const SettingList& all, SourceKeys& keys) {
  offer_fsdp_kind(all, keys);
  keys.add_not_supported("(gpus)", "not in this file", "the number of GPUs; give --dp", "dp");
  const Setting* const length = first_like(all, "max_length");
  const bool has_length = first_like(all, "max_seq_length") != nullptr ||
                          first_like(all, "block_size") != nullptr ||
                          (length != nullptr && length->value != "20");
  if (!has_length) {
    keys.add_not_supported("(length)", "not in this file",
                           "texts are as long as they are; give --seq", "seq");
  }
}

constexpr std::array kWandbReaders{
    NamedReader{"wandb_length", read_wandb_length},   NamedReader{"wandb_lora", read_wandb_lora},
    NamedReader{"wandb_mapping", read_wandb_mapping}, NamedReader{"wandb_model", read_wandb_model},
    NamedReader{"wandb_task", read_wandb_task},
};

}  // namespace

const Program& wandb() {
  static const Program kProgram =
      program_of_facts("wandb", {kWandbReaders, hugging_face_readers()}, finish_wandb);
  return kProgram;
}

}  // namespace highwater::program_table
