#include "workloads/sources/programs/hugging_face/axolotl_readers.hpp"

#include <algorithm>
#include <string>

#include "traces/error.hpp"
#include "workloads/sources/programs/hugging_face/deepspeed_readers.hpp"
#include "workloads/sources/programs/hugging_face/hugging_face.hpp"
#include "workloads/sources/programs/hugging_face/settings_facts.hpp"

namespace highwater::program_table {
namespace {

/// _prepare_model_for_quantization leaves these out.
bool stays_in_16_bits(const SettingList& all) {
  return sharding_of(all) != Sharding::none || zero_stage_of(all) == 3;
}

/// utils/config/__init__.py resolve_dtype: weights are read in the type of training; `bf16: auto`
/// is bf16 on every GPU that is known here.
std::string axolotl_precision(const SettingList& all) {
  const std::string bf16 = text_of(all, {"bf16"}).value_or("auto");
  const bool is_fp16 = is_any_on(all, {"fp16"});
  const bool is_bf16 = is_any_on(all, {"bfloat16"}) ||
                       (bf16 == "auto" ? !is_fp16 : bf16 == "true" || bf16 == "full");
  const std::string_view half = is_bf16 ? "bf16" : is_fp16 ? "fp16" : "";
  const bool is_fp32 = keeps_4bit_weights_whole(all) && !stays_in_16_bits(all);
  const std::string_view weights = is_fp32                                  ? "fp32"
                                   : is_bf16                                ? "bf16"
                                   : is_fp16 || is_any_on(all, {"float16"}) ? "fp16"
                                                                            : "fp32";
  return precision_word(weights, bf16 == "full" ? "" : half, all).value_or("");
}

[[noreturn]] void refuse_axolotl_trainer(const Setting& setting) {
  throw InputError("", setting.key + " " + setting.value,
                   "only supervised fine-tuning is simulated, and this asks for another trainer",
                   "record the run instead (highwater record)");
}

}  // namespace

/// loaders/model.py _set_quantization_config: weights are in 4 bits with adapter qlora alone, and
/// _prepare_model_for_quantization has PEFT make fp32 of all others that were asked for in 4 bits.
/// Before 0.13 (October 2025) transformers got load_in_4bit itself, and read fp4.
bool keeps_4bit_weights_whole(const SettingList& all) {
  return is_any_on(all, {"load_in_4bit"}) && !is_any_on(all, {"load_in_8bit"}) &&
         text_of(all, {"adapter"}).value_or("qlora") != "qlora";
}

void read_axolotl_half(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const std::string word = axolotl_precision(all);
  if (says_no(setting) || is_same_key(setting.key, "float32")) {
    note_off(setting, keys);
  } else if (word.empty()) {
    keys.add_not_supported(setting.key, setting.value,
                           "fp16 weights under fp16's gradient scaler, which refuses them");
  } else {
    offer(setting, "precision", word, keys);
  }
}

void read_axolotl_fp8(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  if (says_no(setting)) {
    note_off(setting, keys);
  } else {
    offer(setting, "float8", "true", keys);
  }
}

/// core/builders/base.py _configure_gradient_checkpointing: non-reentrant unless told.
void read_axolotl_checkpointing(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  read_checkpointing(setting, all, keys);
  if (setting.value.starts_with("offload")) {
    keys.add_not_supported(setting.key, setting.value,
                           "inputs of checkpointed layers go to the host", MemorySign::less);
  }
}

/// loaders/adapter.py hands lora_r on to PEFT, which makes no adapters without a rank.
void read_axolotl_adapter(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const bool is_lora = setting.value == "lora" || setting.value == "qlora";
  if (is_lora && !text_of(all, {"lora_r"})) {
    keys.add_not_supported(setting.key, setting.value,
                           "adapters without a rank (lora_r), which PEFT refuses; give --lora",
                           "lora");
  } else if (says_no(setting) || setting.value == "lora") {
    keys.add_no_effect(setting.key, setting.value, "read with lora_r");
  } else if (setting.value == "qlora") {
    keys.add_no_effect(setting.key, setting.value, "read with lora_r and load_in_4bit");
  } else {
    keys.add_not_supported(setting.key, setting.value, "adapters of another kind than LoRA");
  }
}

void read_axolotl_4bit(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (says_no(setting) || !keeps_4bit_weights_whole(all)) {
    return read_load_in_4bit(setting, all, keys);
  }
  keys.add_not_supported(
      setting.key, setting.value,
      "axolotl reads weights in 4 bits with adapter qlora alone since 0.13, as is simulated; "
      "releases before read them in fp4",
      MemorySign::less);
}

void read_attention_flag(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (says_no(setting)) {
    return note_off(setting, keys);
  }
  const std::string_view name = setting.key;
  const std::string_view word = name.starts_with("flash")      ? "flash_attention_2"
                                : name.starts_with("sdp")      ? "sdpa"
                                : name.starts_with("xformers") ? "xformers"
                                : name.starts_with("flex")     ? "flex_attention"
                                : name.starts_with("eager")    ? "eager"
                                                               : "sage";
  offer_attention(setting, word, all, keys);
}

void read_axolotl_packing(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  if (says_no(setting)) {
    note_off(setting, keys);
  } else {
    keys.add_no_effect(setting.key, setting.value, "rows are full, as they are here");
  }
}

/// utils/config/__init__.py normalize_config.
/// utils/schemas/training.py: gradient_accumulation_steps is 1 unless a file names it, so that
/// normalize_config() divides only where it is null.
void read_axolotl_batch_size(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const auto whole = whole_number(setting.value);
  const auto micro = whole_number(text_of(all, {"micro_batch_size"}).value_or("1"));
  const Setting* const steps = all.find("gradient_accumulation_steps");
  if (setting.kind == SettingKind::null || steps == nullptr || steps->kind != SettingKind::null) {
    keys.add_no_effect(setting.key, setting.value,
                       "read with gradient_accumulation_steps null only");
  } else if (whole && micro && *micro > 0) {
    offer(setting, "grad-accum", std::to_string(std::max(*whole / *micro, 1LL)), keys);
  }
}

void read_axolotl_fsdp(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  read_fsdp(setting, all, keys);
}

void read_axolotl_compile(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  offer(setting, "compile", says_no(setting) ? "false" : "true", keys);
}

void read_fused_loss(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  if (says_no(setting)) {
    note_off(setting, keys);
  } else {
    offer(setting, "loss", "fused", keys);
  }
}

/// integrations/cut_cross_entropy/args.py: the plugin is on unless told otherwise.
void read_axolotl_plugins(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const Setting* const flag = all.find("cut_cross_entropy");
  const bool cuts = setting.value.find("CutCrossEntropyPlugin") != std::string::npos;
  if (cuts && (flag == nullptr || !says_no(*flag))) {
    offer(setting, "loss", "fused", keys);
  } else {
    keys.add_no_effect(setting.key, setting.value, "read with their own keys");
  }
}

void read_axolotl_rl(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  if (!says_no(setting)) {
    refuse_axolotl_trainer(setting);
  }
  note_off(setting, keys);
}

void read_experts(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  if (setting.kind == SettingKind::null) {
    note_off(setting, keys);
  } else {
    offer(setting, "experts", setting.value, keys);
  }
}

void read_mxfp4(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const bool dequantises = is_any_on(all, {"model_quantization_config_kwargs.dequantize"});
  if (says_no(setting) || dequantises) {
    keys.add_no_effect(setting.key, setting.value, "weights are dequantised when they are read");
  } else {
    keys.add_not_supported(setting.key, setting.value, "the weights are quantised",
                           MemorySign::less);
  }
}

}  // namespace highwater::program_table
