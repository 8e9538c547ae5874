// TRL's supervised fine-tuning: `trl sft`, sft.py, YAML files of `trl sft --config`, recipes of the
// alignment handbook, PEFT's examples/sft; and launch lines of its preference, reward and
// reinforcement learning. A file alone does not say for which of these it is.
//
// Source: TRL 1.16 trainer/sft_config.py, base_config.py, model_config.py, sft_trainer.py,
// scripts/utils.py, and those that facts/programs/trl_*.json name.
#include <algorithm>
#include <array>

#include "traces/error.hpp"
#include "workloads/sources/configuration_file.hpp"
#include "workloads/sources/programs/hugging_face/hugging_face.hpp"
#include "workloads/sources/programs/hugging_face/settings_facts.hpp"
#include "workloads/sources/rules/program_table.hpp"
#include "workloads/sources/settings/read_settings.hpp"

namespace highwater::program_table {
namespace {

[[noreturn]] void refuse_other_trainer(const std::string& where) {
  throw InputError(
      "", where,
      "this is of another trainer than supervised fine-tuning, with a second model or text that it "
      "makes, and a file does not say which",
      "give the launch line with it (--from \"trl dpo --config FILE\"; dpo, kto, reward, grpo and "
      "rloo are known), or record the run (highwater record)");
}

/// Since 1.15 nll is what chunked_nll was (trainer/sft_config.py).
bool is_chunked(const Setting& loss, const SettingList& all) {
  return loss.value == "chunked_nll" ||
         (loss.value == "nll" && !all.releases().are_before("trl", {.major = 1, .minor = 15}));
}

void read_trl_loss(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (setting.kind == SettingKind::null || is_chunked(setting, all)) {
    keys.add_no_effect(setting.key, setting.value, "the default here as well");
  } else if (setting.value == "nll") {
    offer(setting, "loss", "hf", keys);
  } else if (setting.value == "dft") {
    keys.add_not_supported(setting.key, setting.value, "a few extra values per token",
                           MemorySign::little);
  } else {
    refuse_other_trainer(setting.key + " " + setting.value);
  }
}

/// sft_trainer.py: bfd packing is padding-free, so a batch is one row; wrapped packing cuts rows.
void read_packing(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const bool is_wrapped = text_of(all, {"packing_strategy"}).value_or("bfd") == "wrapped";
  if (says_no(setting)) {
    note_off(setting, keys);
  } else if (is_wrapped && is_same_key(setting.key, "packing")) {
    keys.add_no_effect(setting.key, setting.value, "rows are full, as they are here");
  } else {
    keys.add_not_supported(setting.key, setting.value,
                           "a batch becomes one row with positions of each text; simulated as rows "
                           "of the longest length",
                           MemorySign::little);
  }
}

/// TRL makes no logits with Liger either (sft_trainer.py compute_loss).
void read_trl_liger(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  if (says_no(setting)) {
    note_off(setting, keys);
  } else {
    keys.add_not_supported(setting.key, setting.value,
                           "Liger's norms and gates, which save fewer activations than simulated",
                           MemorySign::less);
  }
}

void read_init_kwargs(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  if (says_no(setting)) {
    note_off(setting, keys);
  } else {
    keys.add_not_supported(setting.key, setting.value,
                           "arguments as text; give --precision and --attention");
  }
}

/// trl 1.16, accelerate_configs/NAME.yaml: eight processes each.
void read_trl_strategy(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const std::string& name = setting.value;
  const std::string kind = name == "multi_gpu" ? "ddp" : name;
  if (name == "single_gpu") {
    return keys.add_no_effect(setting.key, name, "one process");
  }
  offer(setting, "dp-kind", kind, keys);
  if (first_like(all, "num_processes") == nullptr) {
    offer(setting, "gpus", "8", keys);
  }
}

void read_trl_processes(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  offer_whole(setting, "gpus", keys);
}

/// The keys of a file are those of the program that reads it.
template <const Program& (*kProgram)()>
void read_trl_file(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const std::string text = configuration_text(setting.value).value_or("");
  if (text.empty()) {
    keys.add_not_supported(setting.key, setting.value,
                           "file not found; pass it with a second --from", "model");
    return;
  }
  keys.add_no_effect(setting.key, setting.value, "its keys follow");
  const SettingList part = read_yaml_settings(text, setting.value);
  SettingList with_file = all;
  for (const Setting& row : part.list()) {
    with_file.add(row);
  }
  apply_rules(kProgram().keys, part, with_file, keys);
}

/// TRL 1.7 was the first whose loss made no logits unless told (pull request 5846).
bool makes_logits(const SettingList& all) {
  return all.releases().are_before("trl", {.major = 1, .minor = 7});
}

/// What all of TRL's trainers share.
void finish_loop(const SettingList& all, SourceKeys& keys) {
  offer_untold_precision(all, keys);
  offer_fsdp_kind(all, keys);
  offer_trl_compute_dtype(all, keys);
  // trainer/model_config.py.
  if (is_any_on(all, {"use_peft"}) && first_like(all, "lora_dropout") == nullptr) {
    offer({"(lora_dropout)", "0.05"}, "lora-dropout", "0.05", keys);
  }
}

void finish_trl(const SettingList& all, SourceKeys& keys) {
  offer({"(framework)", "TRL's SFTTrainer"}, "framework", "trl-sft", keys);
  if (makes_logits(all) && first_like(all, "loss_type") == nullptr &&
      !is_any_on(all, {"use_liger*"})) {
    offer({"(loss)", "TRL before 1.7"}, "loss", "hf", keys);
  }
  finish_loop(all, keys);
}

/// No key says how long prompts are, since max_prompt_length went (trl 1.16 grpo_config.py).
void finish_writing_loop(const SettingList& all, SourceKeys& keys) {
  finish_loop(all, keys);
  if (first_like(all, "max_prompt_length") == nullptr) {
    keys.add_not_supported("(prompts)", "of the data", "their tokens are not known; give --seq",
                           "seq");
  }
}

/// grpo_trainer.py, rloo_trainer.py: a second model is loaded unless the weight of its answer is 0.
void read_kl_weight(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  const bool is_none = setting.value == "0" || setting.value == "0.0";
  offer(setting, "reference-model", is_none ? "false" : "true", keys);
}

void finish_other_trainer(const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  static_cast<void>(keys);
  refuse_other_trainer("this script");
}

constexpr std::array kTrlReaders{
    NamedReader{"init_kwargs", read_init_kwargs},
    NamedReader{"kl_weight", read_kl_weight},
    NamedReader{"packing", read_packing},
    NamedReader{"trl_liger", read_trl_liger},
    NamedReader{"trl_loss", read_trl_loss},
    NamedReader{"trl_processes", read_trl_processes},
    NamedReader{"trl_strategy", read_trl_strategy},
};

template <const Program& (*kProgram)()>
constexpr std::array kFileReader{NamedReader{"trl_file", read_trl_file<kProgram>}};

template <const Program& (*kProgram)()>
Program program_of_trl(std::string_view facts, FinishProgram finish) {
  return program_of_facts(facts, {kTrlReaders, kFileReader<kProgram>, hugging_face_readers()},
                          finish);
}

}  // namespace

void read_other_trainer(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  if (!says_no(setting)) {
    refuse_other_trainer(setting.key);
  }
  note_off(setting, keys);
}

const Program& trl_sft() {
  static const Program kProgram = program_of_trl<trl_sft>("trl", finish_trl);
  return kProgram;
}

const Program& trl_dpo() {
  static const Program kProgram = program_of_trl<trl_dpo>("trl_dpo", finish_loop);
  return kProgram;
}

const Program& trl_kto() {
  static const Program kProgram = program_of_trl<trl_kto>("trl_kto", finish_loop);
  return kProgram;
}

const Program& trl_orpo() {
  static const Program kProgram = program_of_trl<trl_orpo>("trl_orpo", finish_loop);
  return kProgram;
}

const Program& trl_reward() {
  static const Program kProgram = program_of_trl<trl_reward>("trl_reward", finish_loop);
  return kProgram;
}

const Program& trl_grpo() {
  static const Program kProgram = program_of_trl<trl_grpo>("trl_grpo", finish_writing_loop);
  return kProgram;
}

const Program& trl_rloo() {
  static const Program kProgram = program_of_trl<trl_rloo>("trl_rloo", finish_writing_loop);
  return kProgram;
}

const Program& trl_others() {
  static const Program kProgram = program_of_facts("trl_others", {}, finish_other_trainer);
  return kProgram;
}

}  // namespace highwater::program_table
