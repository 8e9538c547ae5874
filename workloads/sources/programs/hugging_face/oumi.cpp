// oumi's training files. They become TrainingArguments or TRL's SFTConfig.
//
// Source: oumi of August 2026 (commit d8ed077): core/configs/training_config.py,
// core/configs/params/*.py to_hf() and to_deepspeed(), core/distributed.py
// get_accelerate_env_vars(), builders/models.py.
#include <algorithm>
#include <array>
#include <cctype>
#include <string>

#include "traces/error.hpp"
#include "workloads/sources/programs/hugging_face/hugging_face.hpp"
#include "workloads/sources/programs/hugging_face/settings_facts.hpp"
#include "workloads/sources/rules/program_table.hpp"

namespace highwater::program_table {
namespace {

std::string in_small_letters(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](char c) { return std::tolower(static_cast<unsigned char>(c)); });
  return text;
}

/// Enums of OmegaConf are written by name or by value: TRL_SFT, trl_sft.
std::string enum_of(const SettingList& all, std::string_view key, std::string_view otherwise) {
  return in_small_letters(text_of(all, {key}).value_or(std::string(otherwise)));
}

bool is_trl(const SettingList& all) {
  return enum_of(all, "trainer_type", "hf") == "trl_sft";
}

void read_oumi_trainer(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  const std::string type = in_small_letters(setting.value);
  if (type == "trl_sft") {
    offer(setting, "framework", "trl-sft", keys);
  } else if (type == "hf" || type == "oumi") {
    offer(setting, "framework", type == "hf" ? "trainer" : "hf", keys);
  } else {
    throw InputError("", "training.trainer_type " + setting.value,
                     "only supervised fine-tuning and pre-training are simulated, and this is "
                     "another trainer, with a second model or text that it makes",
                     "record the run instead (highwater record)");
  }
}

/// training_config.py __post_init__: of the trainers simulated here TRL's alone cuts texts to
/// model_max_length, and it wins over trainer_kwargs.
void read_oumi_length(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const bool is_models = is_same_key(setting.key, "model_max_length");
  if (!is_models && is_trl(all) && first_like(all, "model_max_length") != nullptr) {
    keys.add_no_effect(setting.key, setting.value, "model.model_max_length wins");
  } else if (is_models && !is_trl(all)) {
    keys.add_not_supported(setting.key, setting.value,
                           "texts are cut by TRL's trainer only; simulated as long as this");
    offer_whole(setting, "seq", keys);
  } else {
    offer_whole(setting, "seq", keys);
  }
}

/// Weights in their own type unless told; autocast by mixed_precision_dtype or FSDP's own key.
SettingList with_precision(const SettingList& all) {
  SettingList told = all;
  const std::string mixed = enum_of(all, "mixed_precision_dtype", "none");
  const std::string half = mixed == "none" ? enum_of(all, "mixed_precision", "none") : mixed;
  if (half == "bf16" || half == "fp16") {
    told.add({.key = half, .value = "true", .kind = SettingKind::boolean});
  }
  return told;
}

void read_oumi_dtype(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (!is_same_key(setting.key, "torch_dtype")) {
    keys.add_no_effect(setting.key, setting.value, "read with the weights' type");
  } else {
    offer_precision(setting, with_precision(all), keys);
  }
}

/// peft_params.py to_bits_and_bytes(): fp4 without nested quantisation unless told.
void read_oumi_q_lora(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (says_no(setting) || !is_any_on(all, {"use_peft"})) {
    note_off(setting, keys);
  } else if (text_of(all, {"q_lora_bits"}).value_or("4") == "8") {
    offer(setting, "quantize", "int8", keys);
  } else {
    offer(setting, "quantize", text_of(all, {"bnb_4bit_quant_type"}).value_or("fp4"), keys);
    if (first_like(all, "bnb_4bit_compute_dtype") == nullptr) {
      offer({"(bnb_4bit_compute_dtype)", "float32"}, "quant-compute-dtype", "fp32", keys);
    }
  }
}

/// deepspeed_params.py to_deepspeed(): the file that DeepSpeed would read.
SettingList deepspeed_file(const SettingList& all) {
  SettingList file;
  const std::string stage = text_of(all, {"deepspeed.zero_stage"}).value_or("0");
  file.add({.key = "zero_optimization.stage",
            .value = stage.substr(stage.size() - 1),
            .kind = SettingKind::number});
  for (const Setting& setting : all.list()) {
    if (setting.key.starts_with("deepspeed.offload_") && setting.key.ends_with(".device")) {
      file.add({.key = "zero_optimization" + setting.key.substr(setting.key.find('.')),
                .value = in_small_letters(setting.value)});
    } else if (setting.key.ends_with("_size") && setting.key.starts_with("deepspeed.")) {
      file.add({.key = "zero_optimization" + setting.key.substr(setting.key.find('.')),
                .value = setting.value,
                .kind = SettingKind::number});
    }
  }
  const std::string half = enum_of(all, "deepspeed.precision", "");
  if (!half.empty()) {
    file.add({.key = half + ".enabled", .value = "true", .kind = SettingKind::boolean});
  }
  return file;
}

void read_oumi_deepspeed(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (says_no(setting)) {
    return note_off(setting, keys);
  }
  keys.add_no_effect(setting.key, setting.value, "what DeepSpeed is told follows");
  read_deepspeed_settings(deepspeed_file(all), keys);
}

/// core/distributed.py _get_use_orig_params(), FSDPParams: no unit but the whole model unless told.
void offer_fsdp_defaults(const SettingList& all, SourceKeys& keys) {
  if (first_like(all, "fsdp_use_orig_params") == nullptr) {
    const bool is_flat = is_any_on(all, {"use_peft"}) && !is_any_on(all, {"torch_compile"});
    read_use_orig_params({"(fsdp.use_orig_params)", is_flat ? "false" : "true"}, all, keys);
  }
  if (first_like(all, "fsdp_auto_wrap_policy") == nullptr) {
    read_wrap_policy({"(fsdp.auto_wrap_policy)", "NO_WRAP"}, all, keys);
  }
}

void finish_oumi(const SettingList& all, SourceKeys& keys) {
  note_missing_file(all, keys);
  offer_fsdp_kind(all, keys);
  note_missing_ranks(all, keys);
  if (is_any_on(all, {"use_fsdp"})) {
    offer_fsdp_defaults(all, keys);
  }
  if (is_any_on(all, {"use_peft"}) && first_like(all, "lora_r") == nullptr) {
    offer({"(peft.lora_r)", "8"}, "lora", "8", keys);
  }
  if (is_trl(all) && !is_any_on(all, {"use_liger_kernel"})) {
    offer({"(loss)", "TRL before 1.7"}, "loss", "hf", keys);
  }
  const bool has_length = first_like(all, "m*_length") != nullptr;
  if (!has_length && is_trl(all)) {
    offer({"(max_length)", "TRL's own"}, "seq", "1024", keys);
  }
}

constexpr std::array kOumiReaders{
    NamedReader{"oumi_deepspeed", read_oumi_deepspeed},
    NamedReader{"oumi_dtype", read_oumi_dtype},
    NamedReader{"oumi_length", read_oumi_length},
    NamedReader{"oumi_q_lora", read_oumi_q_lora},
    NamedReader{"oumi_trainer", read_oumi_trainer},
};

}  // namespace

const Program& oumi() {
  static const Program kProgram =
      program_of_facts("oumi", {kOumiReaders, hugging_face_readers()}, finish_oumi);
  return kProgram;
}

}  // namespace highwater::program_table
