// ms-swift's launch lines and YAML files. They become TrainingArguments.
//
// Source: ms-swift 4.5.2: swift/arguments/sft_args.py, base_args/model_args.py and quant_args.py,
// trainers/arguments.py, trainers/mixin.py _fix_gradient_checkpointing and prepare_logits_to_keep,
// pipelines/train/tuner.py; 3.0 to 3.12 swift/llm/argument; 2.6 swift/llm/utils/argument.py.
#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>

#include "traces/error.hpp"
#include "workloads/facts/facts.hpp"
#include "workloads/plan/catalog/presets.hpp"
#include "workloads/sources/programs/hugging_face/hub_models.hpp"
#include "workloads/sources/programs/hugging_face/hugging_face.hpp"
#include "workloads/sources/programs/hugging_face/settings_facts.hpp"
#include "workloads/sources/rules/program_table.hpp"

namespace highwater::program_table {
namespace {

constexpr std::string_view kProcesses = "ENV.NPROC_PER_NODE";

[[noreturn]] void refuse_swift(const Setting& setting, std::string_view what) {
  throw InputError("", setting.key + " " + setting.value, what,
                   "record the run instead (highwater record)");
}

bool is_full(const SettingList& all) {
  return text_of(all, {"tuner_type"}).value_or("lora") == "full";
}

long long ranks_of(const SettingList& all) {
  return all.whole(kProcesses).value_or(1) * all.whole("ENV.NNODES").value_or(1);
}

/// model_args.py _init_mixed_precision: autocast in the weights' type, in fp16 over fp32 weights,
/// unless bf16 or fp16 is given.
struct SwiftPrecision {
  std::string weights;
  std::string half;
};

SwiftPrecision swift_precision(const SettingList& all) {
  const std::string type = text_of(all, {"torch_dtype"}).value_or("auto");
  const std::string weights = type == "float32" || type == "fp32"   ? "fp32"
                              : type == "float16" || type == "fp16" ? "fp16"
                              : type == "bfloat16" || type == "bf16"
                                  ? "bf16"
                                  : std::string(checkpoint_type(model_of(all)).value_or("bf16"));
  const std::string told(half_of(all));
  return {weights, !told.empty() ? told : weights == "bf16" ? "bf16" : "fp16"};
}

/// With what ms-swift derives, as TrainingArguments would have it.
SettingList derived(const SettingList& all) {
  SettingList told = all;
  if (half_of(all).empty()) {
    told.add({.key = swift_precision(all).half, .value = "true", .kind = SettingKind::boolean});
  }
  if (!is_full(all)) {
    told.add({.key = "use_lora", .value = "true", .kind = SettingKind::boolean});
  }
  return told;
}

void read_swift_dtype(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const SwiftPrecision precision = swift_precision(all);
  const auto word = precision_word(precision.weights, precision.half, derived(all));
  if (word) {
    offer(setting, "precision", *word, keys);
  } else {
    keys.add_not_supported(setting.key, setting.value,
                           fmt::format("weights in {} under autocast in {}; give --precision",
                                       precision.weights, precision.half),
                           "precision");
  }
}

/// Release 2 named the model by a word of its own: qwen2_5-7b-instruct.
void read_swift_model_type(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const std::string known = preset_of(setting.value);
  if (first_like(all, "model_name_or_path") != nullptr || says_no(setting)) {
    keys.add_no_effect(setting.key, setting.value, "which code is loaded, not sizes");
  } else if (find_model_preset(known) == nullptr) {
    keys.add_not_supported(setting.key, setting.value,
                           "ms-swift's own name of a model; give --model", "model");
  } else {
    offer(setting, "model", known, keys);
  }
}

void read_swift_tuner(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  if (setting.value != "lora" && setting.value != "full") {
    refuse_swift(setting, "only whole models and LoRA are simulated, not this kind of training");
  }
  keys.add_no_effect(setting.key, setting.value, "read with lora_rank and the precision");
}

void read_swift_task(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  const bool is_loss = is_same_key(setting.key, "loss_type");
  if (says_no(setting) || setting.value == "causal_lm" ||
      (is_loss && (setting.value == "cross_entropy" || setting.value == "loss_scale"))) {
    keys.add_no_effect(setting.key, setting.value, "cross entropy over tokens, as simulated");
  } else {
    refuse_swift(setting, "only language models with cross entropy over tokens are simulated");
  }
}

void read_swift_lora(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  read_lora_key(setting, derived(all), keys);
}

/// Files of swift/config, by their names; "default-" stood in front in release 2.
std::string file_called(std::string_view name) {
  constexpr std::string_view kFront = "default-";
  if (name.starts_with(kFront)) {
    name.remove_prefix(kFront.size());
  }
  for (const JsonField& row : facts("programs/ms_swift.json").at("files").elements()) {
    if (row.at("name").view() == name) {
      return row.at("text").text();
    }
  }
  return "";
}

void read_swift_deepspeed(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const std::string text = file_called(setting.value);
  if (text.empty()) {
    read_deepspeed(setting, derived(all), keys);
  } else {
    read_deepspeed_text(setting, text, derived(all), keys);
  }
}

/// arguments/sft_args.py: written into zero_optimization, which stage 3 alone reads.
void read_swift_hpz(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const std::string file = text_of(all, {"deepspeed"}).value_or("");
  if (file.find("zero3") != std::string::npos && setting.value != "0") {
    offer_whole(setting, "hpz-partition-size", keys);
  } else if (file.empty() || !file_called(file).empty()) {
    keys.add_no_effect(setting.key, setting.value, "read with ZeRO-3 only");
  } else {
    keys.add_not_supported(setting.key, setting.value,
                           "with ZeRO-3 a second copy of the parameters (ZeRO++); give "
                           "--hpz-partition-size",
                           MemorySign::more);
  }
}

/// swift/config/fsdp2.json.
void read_swift_fsdp(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  if (says_no(setting)) {
    note_off(setting, keys);
  } else if (setting.value == "fsdp2") {
    offer(setting, "reshard", "always", keys);
    offer(setting, "checkpoint", "full", keys);
    offer(setting, "init", "meta", keys);
  } else {
    keys.add_not_supported(setting.key, setting.value,
                           "a file of FSDP's settings; give what it sets (--dp-kind fsdp2, ...)",
                           "dp-kind");
  }
}

void read_swift_bits(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (text_of(all, {"quant_method"}).value_or("bnb") != "bnb") {
    keys.add_no_effect(setting.key, setting.value, "read with quant_method");
    return;
  }
  read_bits(setting, all, keys);
  if (setting.value == "4") {
    const bool is_single = text_of(all, {"bnb_4bit_use_double_quant"}).value_or("true") == "false";
    offer({"(bnb_4bit_use_double_quant)", is_single ? "false" : "true"}, "double-quant",
          is_single ? "false" : "true", keys);
    const std::string type = swift_precision(all).weights == "bf16" ? "bf16" : "fp32";
    if (first_like(all, "bnb_4bit_compute_dtype") == nullptr) {
      offer({"(bnb_4bit_compute_dtype)", type}, "quant-compute-dtype", type, keys);
    }
  }
}

void read_swift_ranks(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (!all.whole(setting.key)) {
    keys.add_not_supported(setting.key, setting.value, "the number of GPUs; give --dp", "dp");
  } else {
    offer(setting, "gpus", std::to_string(ranks_of(all)), keys);
  }
}

/// Without NPROC_PER_NODE one process spreads the layers over all devices that it sees.
void read_swift_devices(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const bool has_several = setting.value.find(',') != std::string::npos;
  if (has_several && first_like(all, kProcesses) == nullptr) {
    keys.add_not_supported(setting.key, setting.value,
                           "one process spreads the layers over these GPUs; simulated on one");
  } else {
    keys.add_no_effect(setting.key, setting.value, "which GPUs, not how many processes");
  }
}

/// trainers/arguments.py __post_init__: sixteen sequences for each step.
void offer_accumulation(const SettingList& all, SourceKeys& keys) {
  const long long batch = all.whole("per_device_train_batch_size").value_or(1);
  if (first_like(all, "gradient_accumulation_steps") == nullptr && batch > 0) {
    constexpr long long kSequences = 16;
    const long long at_once = batch * std::max(ranks_of(all), 1LL);
    const long long steps = std::max((kSequences + at_once - 1) / at_once, 1LL);
    offer({"(gradient_accumulation_steps)", "16 sequences"}, "grad-accum", std::to_string(steps),
          keys);
  }
}

/// trainers/mixin.py _fix_gradient_checkpointing: reentrant but for several plain processes.
void offer_recomputation(const SettingList& all, SourceKeys& keys) {
  const bool is_told = first_like(all, "gradient_checkpointing_kwargs*") != nullptr;
  if (is_told || !is_any_on(all, {"gradient_checkpointing"}) ||
      sharding_of(all) == Sharding::fsdp2) {
    return;
  }
  const bool is_plain = ranks_of(all) > 1 && sharding_of(all) == Sharding::none;
  offer({"(use_reentrant)", is_plain ? "false" : "true"}, "checkpoint-impl",
        is_plain ? "nonreentrant" : "reentrant", keys);
}

void note_kept_logits(const SettingList& all, SourceKeys& keys) {
  const Setting* const told = first_like(all, "use_logits_to_keep");
  if (told == nullptr || !says_no(*told)) {
    keys.add_not_supported("(use_logits_to_keep)", "true",
                           "no logits are made for tokens without a label; simulated with all");
  }
}

/// Release 2 cut texts to 2,048 tokens; later ones to what the model takes.
void offer_length(const SettingList& all, SourceKeys& keys) {
  if (first_like(all, "max_length") == nullptr) {
    keys.add_not_supported("(max_length)", "the model's own",
                           "texts are as long as they are; give --seq", "seq");
  }
}

void finish_swift(const SettingList& all, SourceKeys& keys) {
  note_missing_file(all, keys);
  offer({"(framework)", "transformers' Trainer"}, "framework", "trainer", keys);
  offer_fsdp_kind(all, keys);
  offer_accumulation(all, keys);
  offer_recomputation(all, keys);
  offer_length(all, keys);
  note_kept_logits(all, keys);
  if (first_like(all, kProcesses) == nullptr) {
    note_missing_ranks(all, keys);
  }
}

constexpr std::array kSwiftReaders{
    NamedReader{"swift_bits", read_swift_bits},
    NamedReader{"swift_deepspeed", read_swift_deepspeed},
    NamedReader{"swift_devices", read_swift_devices},
    NamedReader{"swift_dtype", read_swift_dtype},
    NamedReader{"swift_fsdp", read_swift_fsdp},
    NamedReader{"swift_hpz", read_swift_hpz},
    NamedReader{"swift_lora", read_swift_lora},
    NamedReader{"swift_model_type", read_swift_model_type},
    NamedReader{"swift_ranks", read_swift_ranks},
    NamedReader{"swift_task", read_swift_task},
    NamedReader{"swift_tuner", read_swift_tuner},
};

void refuse_other_swift(const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  static_cast<void>(keys);
  throw InputError("", "this command",
                   "of ms-swift only swift sft and swift pt are simulated: the others train by "
                   "preference or reward, on Megatron, or train nothing",
                   "record the run instead (highwater record)");
}

}  // namespace

const Program& ms_swift() {
  static const Program kProgram =
      program_of_facts("ms_swift", {kSwiftReaders, hugging_face_readers()}, finish_swift);
  return kProgram;
}

const Program& ms_swift_others() {
  static const Program kProgram = program_of_facts("ms_swift_others", {}, refuse_other_swift);
  return kProgram;
}

}  // namespace highwater::program_table
