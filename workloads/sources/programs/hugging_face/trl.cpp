// TRL's supervised fine-tuning: `trl sft`, sft.py, YAML files of `trl sft --config`, recipes of the
// alignment handbook, PEFT's examples/sft. TRL's other trainers are refused.
//
// Source: TRL 1.16 trainer/sft_config.py, base_config.py, model_config.py, sft_trainer.py,
// scripts/utils.py.
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
      "only supervised fine-tuning is simulated, and this is of another trainer, with a "
      "second model or text that it makes",
      "record the run instead (highwater record), or give --model and options for what "
      "the trained model alone takes");
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

void read_trl_file(const Setting& setting, const SettingList& all, SourceKeys& keys);

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
  apply_rules(trl_sft().keys, part, with_file, keys);
}

/// TRL 1.7 was the first whose loss made no logits unless told (pull request 5846).
bool makes_logits(const SettingList& all) {
  return all.releases().are_before("trl", {.major = 1, .minor = 7});
}

void finish_trl(const SettingList& all, SourceKeys& keys) {
  offer({"(framework)", "TRL's SFTTrainer"}, "framework", "trl-sft", keys);
  if (makes_logits(all) && first_like(all, "loss_type") == nullptr &&
      !is_any_on(all, {"use_liger*"})) {
    offer({"(loss)", "TRL before 1.7"}, "loss", "hf", keys);
  }
  offer_untold_precision(all, keys);
  offer_fsdp_kind(all, keys);
  offer_trl_compute_dtype(all, keys);
  // trainer/model_config.py.
  if (is_any_on(all, {"use_peft"}) && first_like(all, "lora_dropout") == nullptr) {
    offer({"(lora_dropout)", "0.05"}, "lora-dropout", "0.05", keys);
  }
}

void finish_other_trainer(const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  static_cast<void>(keys);
  refuse_other_trainer("this script");
}

constexpr std::array kTrlReaders{
    NamedReader{"init_kwargs", read_init_kwargs},
    NamedReader{"packing", read_packing},
    NamedReader{"trl_file", read_trl_file},
    NamedReader{"trl_liger", read_trl_liger},
    NamedReader{"trl_loss", read_trl_loss},
    NamedReader{"trl_processes", read_trl_processes},
    NamedReader{"trl_strategy", read_trl_strategy},
};

}  // namespace

void read_other_trainer(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  if (!says_no(setting)) {
    refuse_other_trainer(setting.key);
  }
  note_off(setting, keys);
}

const Program& trl_sft() {
  static const Program kProgram =
      program_of_facts("trl", {kTrlReaders, hugging_face_readers()}, finish_trl);
  return kProgram;
}

const Program& trl_others() {
  static const Program kProgram = program_of_facts("trl_others", {}, finish_other_trainer);
  return kProgram;
}

}  // namespace highwater::program_table
