// Launch lines of scripts around transformers' Trainer, and files of their arguments: run_clm.py
// and its siblings, FastChat, Stanford Alpaca, Qwen.
//
// Sources: transformers 5.23 and its examples/pytorch/language-modeling; FastChat
// fastchat/train/train.py, train_lora.py; stanford_alpaca train.py; Qwen finetune.py.
#include <array>

#include "traces/error.hpp"
#include "workloads/sources/combined_words.hpp"
#include "workloads/sources/programs/hugging_face/hugging_face.hpp"
#include "workloads/sources/programs/hugging_face/settings_facts.hpp"
#include "workloads/sources/rules/program_table.hpp"

namespace highwater::program_table {
namespace {

/// Of one GPU, where the script does not say per_device_train_batch_size as well.
void read_micro_batch(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const Setting* const own = first_like(all, "per_device_train_batch_size");
  if (own != nullptr && !own->is_default) {
    keys.add_no_effect(setting.key, setting.value, "read beside per_device_train_batch_size");
  } else {
    offer_whole(setting, "batch", keys);
  }
}

/// A script with a rank and no switch has adapters alone (FastChat's train_lora.py).
void read_script_lora(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const bool has_switch = text_of(all, {"use_lora", "use_peft*", "lora_enable", "low_rank_training",
                                        "peft_enabled", "enable_peft", "enable_lora"})
                              .has_value();
  SettingList with_switch = all;
  if (!has_switch && text_of(all, {"lora_r", "lora_rank"})) {
    with_switch.add({.key = "use_lora", .value = "true", .kind = SettingKind::boolean});
  }
  read_lora_key(setting, with_switch, keys);
}

/// Python Fire reads "[q_proj, v_proj]" as a list.
void read_fire_targets(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  Setting list = setting;
  std::erase_if(list.value, [](char c) { return std::string_view("[]'\" ").find(c) < 5; });
  read_script_lora(list, all, keys);
}

/// The sequences of all ranks; each GPU takes `micro_batch_size` of them at once.
void read_batch_of_step(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  offer_whole(setting, kGlobalBatch, keys);
}

/// finetune.py of alpaca-lora evaluates where some texts are kept apart, with Trainer's own batch.
void read_validation_set(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  read_evaluation({.key = setting.key,
                   .value = whole_number(setting.value) == 0 ? "no" : "steps",
                   .kind = SettingKind::text},
                  all, keys);
}

/// LLaVA's scripts: the language model is named, and a tower stands beside it.
void read_vision_tower(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  if (says_no(setting)) {
    return note_off(setting, keys);
  }
  throw InputError("", setting.key + " " + setting.value,
                   "a model that sees, of which the simulation has the language model alone",
                   "record the run instead (highwater record)");
}

void finish_trainer(const SettingList& all, SourceKeys& keys) {
  offer({"(framework)", "transformers' Trainer"}, "framework", "trainer", keys);
  offer_fsdp_kind(all, keys);
}

constexpr std::array kScriptReaders{
    NamedReader{"batch_of_step", read_batch_of_step},
    NamedReader{"fire_targets", read_fire_targets},
    NamedReader{"micro_batch", read_micro_batch},
    NamedReader{"script_lora", read_script_lora},
    NamedReader{"validation_set", read_validation_set},
    NamedReader{"vision_tower", read_vision_tower},
};

}  // namespace

const Program& trainer() {
  static const Program kProgram =
      program_of_facts("trainer", {kScriptReaders, hugging_face_readers()}, finish_trainer);
  return kProgram;
}

const Program& seq2seq_scripts() {
  static const Program kProgram =
      program_of_facts("seq2seq_scripts", {kScriptReaders, hugging_face_readers()}, finish_trainer);
  return kProgram;
}

const Program& own_scripts() {
  static const Program kProgram =
      program_of_facts("own_scripts", {kScriptReaders, hugging_face_readers()}, finish_trainer);
  return kProgram;
}

const Program& alpaca_lora() {
  static const Program kProgram =
      program_of_facts("alpaca_lora", {kScriptReaders, hugging_face_readers()}, finish_trainer);
  return kProgram;
}

const Program& plain_loop() {
  static const Program kProgram =
      program_of_facts("accelerate_scripts", {kScriptReaders, hugging_face_readers()});
  return kProgram;
}

}  // namespace highwater::program_table
