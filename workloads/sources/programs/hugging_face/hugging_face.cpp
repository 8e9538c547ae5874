#include "workloads/sources/programs/hugging_face/hugging_face.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "workloads/sources/programs/hugging_face/hub_models.hpp"
#include "workloads/sources/programs/hugging_face/settings_facts.hpp"

namespace highwater::program_table {
namespace {

bool is_bf16_word(std::string_view text) {
  return text == "bf16" || text == "bfloat16" || text == "torch.bfloat16";
}

bool is_fp16_word(std::string_view text) {
  return text == "fp16" || text == "float16" || text == "half" || text == "torch.float16";
}

/// The type that the weights are read in; absent if only the checkpoint knows.
std::optional<std::string_view> weights_of(const SettingList& all) {
  const std::string type = text_of(all, {"model_init_kwargs.dtype", "model_init_kwargs.torch_dtype",
                                         "torch_dtype", "dtype"})
                               .value_or("");
  if (is_bf16_word(type)) {
    return "bf16";
  }
  if (is_fp16_word(type)) {
    return "fp16";
  }
  const std::string model = model_of(all);
  if (type != "auto" || is_of_transformers_4(all) || model.empty()) {
    return "fp32";
  }
  return checkpoint_type(model);
}

std::optional<std::string> precision_of(const SettingList& all) {
  const auto weights = weights_of(all);
  return weights ? precision_word(*weights, half_of(all), all) : std::nullopt;
}

}  // namespace

void offer_precision(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const auto weights = weights_of(all);
  const auto word = precision_of(all);
  if (word) {
    offer(setting, "precision", *word, keys);
  } else if (weights) {
    offer(setting, "precision", "bf16+amp", keys);
    keys.add_not_supported(
        setting.key, setting.value,
        fmt::format("weights in {} under autocast in {}, whose copies of them are "
                    "left out; simulated as bf16+amp",
                    *weights, half_of(all)),
        MemorySign::more);
  } else if (family_of(model_of(all)).empty()) {
    keys.add_no_effect(setting.key, setting.value, "the type of a checkpoint that is not known");
  } else {
    keys.add_not_supported(setting.key, setting.value,
                           "the type of the checkpoint is not known; give --precision",
                           "precision");
  }
}

Sharding sharding_of(const SettingList& all) {
  const std::string type = text_of(all, {"distributed_type", "dist_config.name"}).value_or("");
  const bool is_deepspeed = is_same_key(type, "deepspeed") ||
                            is_any_on(all, {"deepspeed", "use_deepspeed", "zero_stage"});
  const bool is_axolotl = first_like(all, "base_model") != nullptr;
  const bool is_fsdp = is_same_key(type, "fsdp") || is_same_key(type, "fsdp2") ||
                       is_any_on(all, {"fsdp", "use_fsdp"}) ||
                       (is_axolotl && first_like(all, "fsdp_config.*") != nullptr);
  if (is_deepspeed || !is_fsdp) {
    return is_deepspeed ? Sharding::deepspeed : Sharding::none;
  }
  const bool is_first_by_default = is_axolotl || is_of_transformers_4(all) ||
                                   first_like(all, "distributed_type") != nullptr ||
                                   first_like(all, "use_fsdp") != nullptr;
  const std::string version = text_of(all, {"fsdp_config.*version", "fsdp_version"})
                                  .value_or(is_first_by_default && type != "fsdp2" ? "1" : "2");
  return version == "1" ? Sharding::fsdp1 : Sharding::fsdp2;
}

bool is_of_transformers_4(const SettingList& all) {
  return all.releases().are_before("transformers", {.major = 5, .minor = 0});
}

std::string model_of(const SettingList& all) {
  const auto name =
      text_of(all, {"model_name_or_path", "base_model", "config_name", "model_name", "model",
                    "model_id", "base_model_name", "base_model_name_or_path", "model_path"});
  return name ? preset_of(*name) : std::string();
}

std::string_view half_of(const SettingList& all) {
  const std::string mixed = text_of(all, {"mixed_precision"}).value_or("");
  if (is_any_on(all, {"fp16"}) || mixed == "fp16") {
    return "fp16";
  }
  return is_any_on(all, {"bf16", "pure_bf16"}) || mixed == "bf16" ? "bf16" : "";
}

std::optional<std::string> precision_word(std::string_view weights, std::string_view half,
                                          const SettingList& all) {
  const Sharding sharding = sharding_of(all);
  if (sharding == Sharding::deepspeed) {
    return std::string(half.empty() ? "fp32" : half);
  }
  if (half.empty()) {
    return std::string(weights);
  }
  // accelerate 1.15, utils/fsdp_utils.py fsdp2_prepare_model and accelerator.py prepare_model: what
  // it shards and is trained becomes fp32. Frozen weights keep their type.
  if (weights == "fp32" || (sharding != Sharding::none && !trains_adapters(all))) {
    return fmt::format("amp-{}", half);
  }
  // fp16 under autocast in fp16 has the same sizes.
  return weights == half ? std::optional<std::string>("bf16+amp") : std::nullopt;
}

bool trains_adapters(const SettingList& all) {
  const std::string adapter =
      text_of(all, {"adapter", "finetuning_type", "peft_config.name"}).value_or("");
  return adapter == "lora" || adapter == "qlora" ||
         is_any_on(all, {"use_peft", "use_peft_lora", "use_lora", "lora_enable", "peft_enabled",
                         "enable_peft", "enable_lora"});
}

void apply_rules(const KeyTable& table, const SettingList& part, const SettingList& all,
                 SourceKeys& keys) {
  for (const Setting& setting : part.list()) {
    const KeyRule* const rule = table.find(setting.key);
    if (setting.is_replaced) {
      keys.add_no_effect(setting.key, setting.value, "given again further down");
    } else if (rule == nullptr) {
      keys.add_not_supported(setting.key, setting.value, "no key that this program knows");
    } else {
      apply_rule(*rule, setting, all, keys);
    }
  }
}

void note_missing_ranks(const SettingList& all, SourceKeys& keys) {
  if (sharding_of(all) != Sharding::none) {
    keys.add_not_supported("(gpus)", "not in this file", "the number of GPUs; give --dp", "dp");
  }
}

void refuse_without_training(const Setting& setting) {
  throw InputError("", setting.key + " " + setting.value, "this run trains nothing",
                   "give the file or the line of a run that trains");
}

/// examples/pytorch: a script trains with do_train, and evaluates or predicts without it. Trainer
/// itself does not look, and others' scripts train whatever it says.
void read_do_train(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (says_no(setting) && is_any_on(all, {"do_eval", "do_predict"})) {
    refuse_without_training(setting);
  }
  keys.add_no_effect(setting.key, setting.value, "training, as it is here");
}

void read_other_device(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  if (!says_no(setting)) {
    throw InputError("", setting.key + " " + setting.value,
                     "training runs on another device than a GPU, and takes none of its memory",
                     fmt::format("leave {} out to see what it takes on a GPU", setting.key));
  }
  note_off(setting, keys);
}

void note_missing_file(const SettingList& all, SourceKeys& keys) {
  if (!model_of(all).empty()) {
    return;
  }
  for (const Setting& setting : all.list()) {
    const bool is_file = setting.value.ends_with(".yaml") || setting.value.ends_with(".yml") ||
                         setting.value.ends_with(".json");
    if (is_file && (setting.key == "argument" || setting.key == "c" || setting.key == "config")) {
      keys.add_not_supported(setting.key, setting.value,
                             "file not found; pass it with a second --from", "model");
    }
  }
}

void offer_untold_precision(const SettingList& all, SourceKeys& keys) {
  const bool is_told = is_any_on(all, {"bf16", "fp16"}) || all.find("dtype") != nullptr ||
                       all.find("torch_dtype") != nullptr;
  if (!is_told) {
    offer_precision({"(precision)", "not in this file"}, all, keys);
  }
}

}  // namespace highwater::program_table
