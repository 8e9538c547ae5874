// LLaMA-Factory's YAML files and launch lines.
//
// Source: LLaMA-Factory of August 2026 (commit ff6d4d1): hparams/*.py, hparams/parser.py,
// model/adapter.py, model/patcher.py, model/model_utils/checkpointing.py, launcher.py.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "traces/error.hpp"
#include "workloads/sources/programs/hugging_face/hub_models.hpp"
#include "workloads/sources/programs/hugging_face/hugging_face.hpp"
#include "workloads/sources/programs/hugging_face/settings_facts.hpp"
#include "workloads/sources/rules/program_table.hpp"
#include "workloads/sources/rules/reasons.hpp"

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
  keys.add_no_effect(setting.key, setting.value, "cross entropy over tokens, as simulated");
}

void read_factory_type(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  if (setting.value == "lora" || setting.value == "full") {
    keys.add_no_effect(setting.key, setting.value, "read with lora_rank and the precision");
  } else {
    refuse_factory(setting, "only whole models and LoRA are simulated, not this kind of training");
  }
}

/// hparams/parser.py: pure_bf16 keeps everything in bf16 and leaves TrainingArguments as they are,
/// whose bf16 or fp16 is autocast all the same.
std::string pure_precision(const SettingList& all) {
  const std::string_view autocast = is_any_on(all, {"bf16"})   ? "bf16"
                                    : is_any_on(all, {"fp16"}) ? "fp16"
                                                               : "";
  return precision_word("bf16", autocast, all).value_or("");
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
    return pure_precision(all);
  }
  return precision_word(is_full ? "fp32" : kept, half, all).value_or("");
}

void read_factory_half(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const std::string word = factory_precision(all);
  if (says_no(setting)) {
    note_off(setting, keys);
  } else if (word.empty()) {
    keys.add_not_supported(
        setting.key, setting.value,
        "no --precision value stands for weights of this type under autocast; choose one",
        "precision");
  } else {
    offer(setting, "precision", word, keys);
  }
}

/// llamafactory-cli chat, api and export read files without these; training needs do_train
/// (parser.py).
bool is_for_training(const SettingList& all) {
  const Setting* const stage = all.find("stage");
  return (stage != nullptr && !stage->is_default) || all.find("do_train") != nullptr;
}

[[noreturn]] void refuse_other_use(const Setting& setting) {
  throw InputError("", setting.key + " " + setting.value,
                   "this file is for chat or export (llamafactory-cli), and trains nothing",
                   "give the file of 'llamafactory-cli train', which has do_train");
}

void read_factory_other_use(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (!is_for_training(all)) {
    refuse_other_use(setting);
  }
  keys.add_no_effect(setting.key, setting.value, std::string(reasons::kInference));
}

/// Beside nothing but a model and its adapters it is how llamafactory-cli chat puts texts.
void read_factory_template(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const Setting* const batch = all.find("per_device_train_batch_size");
  const bool has_data = all.find("dataset") != nullptr || (batch != nullptr && !batch->is_default);
  const bool has_use = all.find("export_dir") != nullptr || all.find("infer_backend") != nullptr;
  if (!is_for_training(all) && !has_data && !has_use) {
    refuse_other_use(setting);
  }
  keys.add_no_effect(setting.key, setting.value, std::string(reasons::kData));
}

void read_factory_packing(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  if (says_no(setting)) {
    note_off(setting, keys);
  } else if (is_same_key(setting.key, "neat_packing")) {
    keys.add_not_supported(setting.key, setting.value,
                           "texts of a row do not see each other, by a mask or by flash-attn",
                           MemorySign::more);
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
  if (says_no(setting)) {
    offer(setting, "checkpoint", "full", keys);
    offer(setting, "checkpoint-impl", is_reentrant ? "reentrant" : "nonreentrant", keys);
  } else if (is_any_on(all, {"gradient_checkpointing"})) {
    keys.add_no_effect(setting.key, setting.value, "gradient_checkpointing turns it on");
  } else {
    offer(setting, "checkpoint", "none", keys);
  }
}

/// Trainer turns it on as well, and never off (trainer.py, _inner_training_loop).
void read_factory_trainers_checkpointing(const Setting& setting, const SettingList& all,
                                         SourceKeys& keys) {
  const Setting* const off = first_like(all, "disable_gradient_checkpointing");
  if (off == nullptr || says_no(*off)) {
    keys.add_no_effect(setting.key, setting.value,
                       "LLaMA-Factory checkpoints unless disable_gradient_checkpointing says no");
  } else {
    read_checkpointing(setting, all, keys);
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
  keys.add_no_effect(setting.key, setting.value, "read by vision models only");
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

/// train/sft/workflow.py trains with do_train alone.
void read_factory_do_train(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  if (says_no(setting)) {
    refuse_without_training(setting);
  }
  keys.add_no_effect(setting.key, setting.value, "training, as it is here");
}

/// do_train is off unless it stands there, and so predicts the file that says so.
void refuse_prediction(const SettingList& all) {
  const Setting* const predicts = all.find("do_predict");
  if (all.find("do_train") == nullptr && predicts != nullptr && !says_no(*predicts)) {
    refuse_without_training(*predicts);
  }
}

void finish_factory(const SettingList& all, SourceKeys& keys) {
  refuse_prediction(all);
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

constexpr std::array kFactoryReaders{
    NamedReader{"factory_checkpointing", read_factory_checkpointing},
    NamedReader{"factory_do_train", read_factory_do_train},
    NamedReader{"factory_fp8", read_factory_fp8},
    NamedReader{"factory_half", read_factory_half},
    NamedReader{"factory_megatron", read_factory_megatron},
    NamedReader{"factory_muon", read_factory_muon},
    NamedReader{"factory_optim", read_factory_optim},
    NamedReader{"factory_other_use", read_factory_other_use},
    NamedReader{"factory_packing", read_factory_packing},
    NamedReader{"factory_projection", read_factory_projection},
    NamedReader{"factory_stage", read_factory_stage},
    NamedReader{"factory_template", read_factory_template},
    NamedReader{"factory_trainers_checkpointing", read_factory_trainers_checkpointing},
    NamedReader{"factory_type", read_factory_type},
    NamedReader{"factory_vision", read_factory_vision},
};

}  // namespace

void read_factory_attention(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (setting.value == "auto") {
    keys.add_no_effect(setting.key, setting.value, "left to the default");
  } else {
    offer_attention(setting, setting.value == "disabled" ? "eager" : setting.value, all, keys);
  }
}

const Program& llamafactory() {
  static const Program kProgram =
      program_of_facts("llamafactory", {kFactoryReaders, hugging_face_readers()}, finish_factory);
  return kProgram;
}

}  // namespace highwater::program_table
