// qlora.py, the script of QLoRA's authors, which many take as it is.
//
// Source: artidoro/qlora of July 2023 (commit 7f4e95a), qlora.py: ModelArguments, DataArguments,
// TrainingArguments, GenerationArguments, get_accelerate_model, find_all_linear_names.
#include <array>

#include "workloads/sources/programs/hugging_face/hugging_face.hpp"
#include "workloads/sources/programs/hugging_face/settings_facts.hpp"
#include "workloads/sources/rules/program_table.hpp"

namespace highwater::program_table {
namespace {

bool trains_whole_model(const SettingList& all) {
  return is_any_on(all, {"full_finetune"});
}

/// A row is a source and its target, both cut to their lengths.
void read_lengths(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const auto source = whole_number(text_of(all, {"source_max_len"}).value_or(""));
  const auto target = whole_number(text_of(all, {"target_max_len"}).value_or(""));
  if (!source || !target) {
    keys.add_not_supported(setting.key, setting.value, "no whole number; give --seq", "seq");
  } else {
    offer(setting, "seq", std::to_string(*source + *target), keys);
  }
}

void read_adapter_key(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  SettingList with_switch = all;
  with_switch.add({.key = "use_lora",
                   .value = trains_whole_model(all) ? "false" : "true",
                   .kind = SettingKind::boolean});
  read_lora_key(setting, with_switch, keys);
}

/// get_accelerate_model: weights in bf16 with --bf16, else in fp32, and autocast over them.
void read_training_type(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  SettingList typed = all;
  typed.add({.key = "torch_dtype", .value = half_of(all) == "bf16" ? "bfloat16" : "float32"});
  read_half(setting, typed, keys);
}

void finish_qlora(const SettingList& all, SourceKeys& keys) {
  offer({"(framework)", "transformers' Trainer"}, "framework", "trainer", keys);
  if (!trains_whole_model(all)) {
    read_adapter_key({.key = "(lora targets)", .value = "all"}, all, keys);
    const std::string_view half = half_of(all);
    if (text_of(all, {"bits"}).value_or("") == "4") {
      offer({"(bnb_4bit_compute_dtype)", half.empty() ? "float32" : std::string(half)},
            "quant-compute-dtype", half.empty() ? "fp32" : std::string(half), keys);
    }
  }
}

constexpr std::array kQloraReaders{
    NamedReader{"adapter_key", read_adapter_key},
    NamedReader{"lengths", read_lengths},
    NamedReader{"training_type", read_training_type},
};

}  // namespace

const Program& qlora_script() {
  static const Program kProgram =
      program_of_facts("qlora", {kQloraReaders, hugging_face_readers()}, finish_qlora);
  return kProgram;
}

}  // namespace highwater::program_table
