// qlora.py, the script of QLoRA's authors, which many take as it is.
//
// Source: artidoro/qlora of July 2023 (commit 7f4e95a), qlora.py: ModelArguments, DataArguments,
// TrainingArguments, GenerationArguments, get_accelerate_model, find_all_linear_names.
#include <array>

#include "workloads/plan/sources/programs/hugging_face/fsdp_rules.hpp"
#include "workloads/plan/sources/programs/hugging_face/settings_facts.hpp"
#include "workloads/plan/sources/programs/hugging_face/training_arguments.hpp"
#include "workloads/plan/sources/rules/program_table.hpp"

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

constexpr std::array kQloraArguments{
    by_context("source_max_len", read_lengths),
    ignored("target_max_len", "read with source_max_len"),
    by_context("bits", read_bits),
    by_context("double_quant", read_bnb_key),
    ignored("quant_type", "read with bits"),
    by_context("lora_r", read_adapter_key),
    by_context("lora_dropout", read_adapter_key),
    ignored("lora_alpha", reasons::kNumbers),
    ignored("lora_modules", "all of them, in this script"),
    ignored("full_finetune", "read with lora_r"),
    by_context("bf16", read_training_type),
    by_context("fp16", read_training_type),
    ignored("adam8bit", "read with optim"),
    ignored("max_memory_MB", reasons::kHost),
    ignored("train_on_source", reasons::kNumbers),
    ignored("use_auth", reasons::kNames),
    ignored("dataset", reasons::kData),
    ignored("dataset_format", reasons::kData),
    ignored("max_train_samples", reasons::kData),
    ignored("max_eval_samples", reasons::kEvaluation),
    unsupported("do_mmlu_eval", "evaluation between steps, which is not simulated"),
    ignored("mmlu_*", reasons::kEvaluation),
    ignored("max_mmlu_samples", reasons::kEvaluation),
    ignored("do_predict", reasons::kInference),
    ignored("max_new_tokens", reasons::kInference),
    ignored("min_new_tokens", reasons::kInference),
    ignored("do_sample", reasons::kInference),
    ignored("num_beam*", reasons::kInference),
    ignored("*penalty*", reasons::kInference),
    ignored("temperature", reasons::kInference),
    ignored("top_*", reasons::kInference),
    ignored("typical_p", reasons::kInference),
    ignored("no_repeat_ngram_size", reasons::kInference),
};

constexpr auto kQloraRules =
    joined_rules(kQloraArguments, kModelArguments, kFsdpRules, kTrainingArguments);

}  // namespace

const Program& qlora_script() {
  static constexpr std::array<std::string_view, 1> kScripts{"qlora.py"};
  static constexpr std::array kDefaults{
      ProgramDefault{"model_name_or_path", "EleutherAI/pythia-12b"},
      ProgramDefault{"bits", "4"},
      ProgramDefault{"double_quant", "true"},
      ProgramDefault{"quant_type", "nf4"},
      ProgramDefault{"lora_r", "64"},
      ProgramDefault{"source_max_len", "1024"},
      ProgramDefault{"target_max_len", "256"},
      ProgramDefault{"optim", "paged_adamw_32bit"},
      ProgramDefault{"per_device_train_batch_size", "1"},
      ProgramDefault{"gradient_accumulation_steps", "16"},
      ProgramDefault{"gradient_checkpointing", "true"},
      ProgramDefault{"max_grad_norm", "0.3"}};
  static constexpr Program kProgram{.name = "qlora.py",
                                    .releases = "qlora.py of July 2023",
                                    .rules = kQloraRules,
                                    .scripts = kScripts,
                                    .defaults = kDefaults,
                                    .mark = "source_max_len",
                                    .finish = finish_qlora};
  return kProgram;
}

}  // namespace highwater::program_table
