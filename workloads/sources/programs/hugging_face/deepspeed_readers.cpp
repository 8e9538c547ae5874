#include "workloads/sources/programs/hugging_face/deepspeed_readers.hpp"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "workloads/sources/programs/hugging_face/hugging_face.hpp"
#include "workloads/sources/programs/hugging_face/settings_facts.hpp"

namespace highwater::program_table {
namespace {

constexpr std::string_view kFilledIn = "filled in by the program that reads the file";

/// NVMe is read and written through the host's memory.
bool is_kept_on_host(const SettingList& all, const std::string& part) {
  const std::string device =
      text_of(all, {"zero_optimization." + part + ".device"}).value_or("none");
  return device == "cpu" || device == "nvme";
}

/// What stays on the host: "optimizer", "params", "both" or empty.
std::string_view offload_word(const SettingList& all) {
  const bool optimizer =
      is_kept_on_host(all, "offload_optimizer") ||
      is_any_on(all, {"zero_optimization.cpu_offload", "zero_optimization.offload_optimizer"});
  const bool params =
      zero_stage_of(all) == 3 &&
      (is_kept_on_host(all, "offload_param") ||
       is_any_on(all, {"zero_optimization.cpu_offload_param",
                       "zero_optimization.cpu_offload_params", "zero_optimization.offload_param"}));
  return optimizer ? (params ? "both" : "optimizer") : params ? "params" : "";
}

/// A size that transformers and accelerate derive from the model's hidden size.
void offer_derived(const Setting& setting, std::string_view option, std::string_view formula,
                   SourceKeys& keys) {
  if (setting.value == "auto") {
    keys.add_not_supported(setting.key, setting.value,
                           fmt::format("{} by transformers; give --{}", formula, option));
  } else {
    offer_whole(setting, option, keys);
  }
}

}  // namespace

std::int64_t zero_stage_of(const SettingList& all) {
  return whole_number(text_of(all, {"zero_optimization.stage", "*zero_stage"}).value_or("0"))
      .value_or(0);
}

/// runtime/engine.py: without ZeRO neither its optimizer nor its configuration is used.
bool note_without_zero(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const bool is_without = zero_stage_of(all) == 0;
  if (is_without) {
    keys.add_no_effect(setting.key, setting.value, "read with stages 1 to 3 only");
  }
  return is_without;
}

void read_zero_offload(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const std::string_view word = offload_word(all);
  if (note_without_zero(setting, all, keys)) {
    return;
  }
  if (says_no(setting) || word.empty()) {
    note_off(setting, keys);
  } else {
    offer(setting, "offload", std::string(word), keys);
  }
}

void read_offload_ratio(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const bool is_whole = setting.value == "1" || setting.value == "1.0";
  if (is_whole || !is_kept_on_host(all, "offload_optimizer")) {
    note_off(setting, keys);
  } else {
    keys.add_not_supported(setting.key, setting.value,
                           "part of the optimizer stays on the GPU; simulated on the host",
                           MemorySign::more);
  }
}

void read_ds_batch(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  offer_whole(setting, "batch", keys);
}

/// runtime/config.py _set_batch_related_parameters: train_batch_size = micro batch * accumulation *
/// data-parallel ranks. Accumulation that is left out is what the ranks leave; here it is 1 where
/// nobody says how many ranks there are.
void read_ds_train_batch(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const auto whole = whole_number(setting.value);
  const auto micro = whole_number(text_of(all, {"train_micro_batch_size_per_gpu"}).value_or(""));
  const auto steps =
      whole_number(text_of(all, {"gradient_accumulation_steps"}).value_or("1")).value_or(1);
  const bool divides = whole && micro && *micro > 0 && *whole % (*micro * steps) == 0;
  if (setting.value == "auto") {
    keys.add_no_effect(setting.key, setting.value, std::string(kFilledIn));
  } else if (divides) {
    offer(setting, "dp", std::to_string(*whole / (*micro * steps)), keys);
    if (!text_of(all, {"gradient_accumulation_steps"})) {
      offer({"(gradient_accumulation_steps)", setting.value}, "global-batch", setting.value, keys);
    }
  } else {
    keys.add_not_supported(setting.key, setting.value, "the batch of all ranks; give --batch",
                           "batch");
  }
}

void read_ds_half(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  const bool is_bf16 = setting.key.starts_with("bf");
  if (setting.value == "auto") {
    keys.add_not_supported(setting.key, setting.value,
                           "filled in from the program's own --bf16 or --fp16; give --precision",
                           "precision");
  } else if (says_no(setting)) {
    note_off(setting, keys);
  } else {
    offer(setting, "precision", is_bf16 ? "bf16" : "fp16", keys);
  }
}

void read_ds_autocast(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  if (says_no(setting)) {
    note_off(setting, keys);
  } else {
    keys.add_not_supported(setting.key, setting.value,
                           "autocast inside of DeepSpeed's engine; simulated without");
  }
}

/// runtime/engine.py _configure_basic_optimizer: FusedAdam, with decoupled weight decay unless
/// adam_w_mode is false; DeepSpeedCPUAdam on the host.
void read_ds_optimizer(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  std::string name = setting.value;
  std::ranges::transform(name, name.begin(),
                         [](char c) { return static_cast<char>(std::tolower(c)); });
  const bool is_adam = name == "adam" || name == "adamw";
  offer(setting, "optimizer", is_adam ? "adamw" : name, keys);
  if (is_adam && !is_any_on(all, {"optimizer.params.torch_adam"})) {
    offer(setting, "optimizer-impl", "fused", keys);
  }
}

void read_ds_torch_adam(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  if (says_no(setting)) {
    note_off(setting, keys);
  } else {
    offer(setting, "optimizer-impl", "default", keys);
  }
}

void read_reduce_bucket(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (!note_without_zero(setting, all, keys)) {
    offer_derived(setting, "reduce-bucket-size", "the hidden size squared", keys);
  }
}

void read_prefetch_bucket(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (zero_stage_of(all) != 3) {
    keys.add_no_effect(setting.key, setting.value, "read with stage 3 only");
  } else {
    offer_derived(setting, "prefetch-bucket-size", "0.9 times the hidden size squared", keys);
  }
}

void read_persistence(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (zero_stage_of(all) != 3) {
    keys.add_no_effect(setting.key, setting.value, "read with stage 3 only");
  } else {
    offer_derived(setting, "param-persistence-threshold", "10 times the hidden size", keys);
  }
}

/// Zero means that each parameter is updated alone.
void read_sub_group(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (zero_stage_of(all) != 3) {
    keys.add_no_effect(setting.key, setting.value, "read with stage 3 only");
  } else if (whole_number(setting.value) == 0) {
    offer(setting, "sub-group-size", "1", keys);
  } else {
    offer_whole(setting, "sub-group-size", keys);
  }
}

/// runtime/zero/stage_1_and_2.py step: parts of the gathered parameters are views.
void read_allgather_bucket(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  keys.add_no_effect(setting.key, setting.value, "parameters are gathered in place");
}

void read_hpz(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (setting.value == "0" || setting.value == "1" || zero_stage_of(all) != 3) {
    note_off(setting, keys);
  } else {
    offer_whole(setting, "hpz-partition-size", keys);
  }
}

void read_ds_checkpointing(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  if (says_no(setting)) {
    note_off(setting, keys);
  } else {
    keys.add_not_supported(setting.key, setting.value,
                           "models that call DeepSpeed's own checkpoint(); give --checkpoint",
                           "checkpoint");
  }
}

void read_autotp(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  if (says_no(setting) || setting.value == "1") {
    note_off(setting, keys);
  } else {
    keys.add_not_supported(setting.key, setting.value,
                           "layers split by DeepSpeed; give --tp for another way of splitting",
                           MemorySign::less);
  }
}

void read_zero_stage(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  const auto stage = whole_number(setting.value);
  if (!stage || *stage < 0 || *stage > 3) {
    keys.add_not_supported(setting.key, setting.value, "a stage from 0 to 3; give --dp-kind",
                           "dp-kind");
  } else {
    offer(setting, "dp-kind", fmt::format("zero{}", *stage), keys);
  }
}

void read_number_or_auto_accum(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  offer_whole(setting, "grad-accum", keys);
}

void read_number_or_auto_clip(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  if (setting.kind == SettingKind::null || setting.value == "auto") {
    keys.add_no_effect(setting.key, setting.value, "left to the default");
  } else {
    offer(setting, "grad-clip", says_no(setting) ? "none" : setting.value, keys);
  }
}

}  // namespace highwater::program_table
