// Keys about weights in 4 and 8 bits. Each program has its own names for BitsAndBytesConfig's
// arguments, and its own defaults.
//
// Sources: TRL 1.16 trainer/model_config.py, trainer/utils.py get_quantization_config; axolotl of
// July 2026 loaders/model.py _set_quantization_config, _configure_embedding_dtypes; LLaMA-Factory
// model/model_utils/quantization.py; FastChat train_lora.py.
#include "workloads/sources/programs/hugging_face/axolotl_readers.hpp"
#include "workloads/sources/programs/hugging_face/hugging_face.hpp"
#include "workloads/sources/programs/hugging_face/settings_facts.hpp"

namespace highwater::program_table {
namespace {

constexpr std::string_view kWith4Bit = "read with weights in 4 bits";

bool loads_4bit(const SettingList& all) {
  return is_any_on(all, {"load_in_4bit", "use_4bit_quantization", "*.load_in_4bit", "q_lora",
                         "use_4bit"}) ||
         text_of(all, {"quantization_bit", "bits", "load_in_bits", "load_in_kbits"}).value_or("") ==
             "4";
}

/// "torch.bfloat16" and "bfloat16" are bf16; empty for what is no type of these.
std::string type_word(std::string_view text) {
  constexpr std::string_view kTorch = "torch.";
  if (text.starts_with(kTorch)) {
    text.remove_prefix(kTorch.size());
  }
  return text == "bfloat16" || text == "bf16"  ? "bf16"
         : text == "float16" || text == "fp16" ? "fp16"
         : text == "float32" || text == "fp32" ? "fp32"
         : text == "uint8"                     ? "uint8"
                                               : "";
}

void offer_type(const Setting& setting, std::string_view option, SourceKeys& keys) {
  if (const std::string word = type_word(setting.value); !word.empty()) {
    offer(setting, option, word, keys);
  } else {
    keys.add_not_supported(setting.key, setting.value, "no type that 4-bit weights are kept in");
  }
}

std::string format_of(const SettingList& all) {
  return text_of(all, {"*bnb_4bit_quant_type", "quantization_type", "quant_type"}).value_or("nf4");
}

bool ends_with(const Setting& setting, std::string_view end) {
  return setting.key.ends_with(end);
}

}  // namespace

void read_load_in_4bit(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (says_no(setting)) {
    return note_off(setting, keys);
  }
  offer(setting, "quantize", format_of(all), keys);
}

void read_load_in_8bit(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  if (says_no(setting)) {
    return note_off(setting, keys);
  }
  offer(setting, "quantize", "int8", keys);
}

void read_bits(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (setting.value == "4") {
    offer(setting, "quantize", format_of(all), keys);
  } else if (setting.value == "8") {
    offer(setting, "quantize", "int8", keys);
  } else if (says_no(setting) || setting.value == "16" || setting.value == "32") {
    note_off(setting, keys);
  } else {
    keys.add_not_supported(setting.key, setting.value, "weights in another number of bits",
                           MemorySign::less);
  }
}

void read_bnb_key(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (!loads_4bit(all) || ends_with(setting, "quant_type")) {
    keys.add_no_effect(setting.key, setting.value, std::string(kWith4Bit));
  } else if (ends_with(setting, "double_quant") || ends_with(setting, "nested_quant")) {
    offer(setting, "double-quant", says_no(setting) ? "false" : "true", keys);
  } else if (ends_with(setting, "quant_storage") || ends_with(setting, "quant_storage_dtype")) {
    offer_type(setting, "quant-storage", keys);
  } else if (ends_with(setting, "compute_dtype")) {
    offer_type(setting, "quant-compute-dtype", keys);
  } else {
    keys.add_no_effect(setting.key, setting.value, std::string(kWith4Bit));
  }
}

void read_q_lora(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (says_no(setting)) {
    return note_off(setting, keys);
  }
  offer(setting, "quantize", format_of(all), keys);
  offer({"(bnb_4bit_use_double_quant)", "True"}, "double-quant", "true", keys);
}

void read_quantization_bit(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const std::string method = text_of(all, {"quantization_method"}).value_or("bnb");
  if (setting.kind == SettingKind::null) {
    return note_off(setting, keys);
  }
  if ((method != "bnb" && method != "bitsandbytes") ||
      (setting.value != "4" && setting.value != "8")) {
    keys.add_not_supported(setting.key, setting.value,
                           "weights quantised by another library than bitsandbytes",
                           MemorySign::less);
    return;
  }
  offer(setting, "quantize", setting.value == "8" ? "int8" : format_of(all), keys);
  if (setting.value == "4") {
    const bool is_single = text_of(all, {"double_quantization"}).value_or("true") == "false";
    offer({"(double_quantization)", is_single ? "false" : "true"}, "double-quant",
          is_single ? "false" : "true", keys);
    const std::string_view half = half_of(all);
    offer({"(bnb_4bit_quant_storage)", "compute_dtype"}, "quant-storage",
          half.empty() ? "fp32" : std::string(half), keys);
  }
  offer({"(prepare_model_for_training)", "its own"}, "prepare-kbit", "false", keys);
}

void offer_axolotl_quantization(const SettingList& all, SourceKeys& keys) {
  if (keeps_4bit_weights_whole(all) || (!loads_4bit(all) && !is_any_on(all, {"load_in_8bit"}))) {
    return;
  }
  if (loads_4bit(all)) {
    if (first_like(all, "*bnb_4bit_use_double_quant") == nullptr) {
      offer({"(bnb_4bit_use_double_quant)", "True"}, "double-quant", "true", keys);
    }
    if (first_like(all, "*bnb_4bit_quant_storage") == nullptr) {
      offer({"(bnb_4bit_quant_storage)", "torch.bfloat16"}, "quant-storage", "bf16", keys);
    }
  }
  // Norms and embeddings become fp32, and 16 bits again.
  offer({"(embeddings)", "16 bits"}, "prepare-kbit", "false", keys);
}

void offer_trl_compute_dtype(const SettingList& all, SourceKeys& keys) {
  // The older name has no default, so it is there only if the file has it.
  const std::string type = text_of(all, {"torch_dtype", "dtype"}).value_or("float32");
  if (is_any_on(all, {"load_in_4bit"}) && !type_word(type).empty()) {
    offer({"(bnb_4bit_compute_dtype)", type}, "quant-compute-dtype", type_word(type), keys);
  }
}

}  // namespace highwater::program_table
