// NeMo Automodel's recipes: a loop of its own around transformers' models under fully_shard.
//
// Source: NeMo Automodel of August 2026 (commit 36044ad): recipes/llm/train_ft.py,
// components/distributed/config.py, components/_peft/lora.py and module_matcher.py,
// components/optim/optimizer.py, _transformers/auto_model.py.
#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>

#include "traces/error.hpp"
#include "workloads/sources/programs/hugging_face/hub_models.hpp"
#include "workloads/sources/programs/hugging_face/hugging_face.hpp"
#include "workloads/sources/programs/hugging_face/settings_facts.hpp"
#include "workloads/sources/rules/program_table.hpp"
#include "workloads/sources/settings/key_pattern.hpp"

namespace highwater::program_table {
namespace {

[[noreturn]] void refuse_recipe(const Setting& setting) {
  throw InputError(
      "", setting.key + " " + setting.value,
      "of Automodel's recipes only those that train a language model on the next token "
      "are simulated",
      "record the run instead (highwater record)");
}

std::string_view last_name(std::string_view path) {
  return path.substr(path.rfind('.') + 1);
}

void read_automodel_recipe(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  const std::string_view name = last_name(setting.value);
  if (!name.ends_with("NextTokenPrediction") || name.starts_with("KnowledgeDistillation")) {
    refuse_recipe(setting);
  }
  keys.add_no_effect(setting.key, setting.value, "cross entropy over tokens, as simulated");
}

void read_automodel_class(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  if (setting.value.find("CausalLM") == std::string::npos &&
      !setting.value.starts_with("transformers.")) {
    keys.add_not_supported(setting.key, setting.value,
                           "a model that is no language model of transformers");
  } else {
    keys.add_no_effect(setting.key, setting.value, "names no size");
  }
}

void read_automodel_teacher(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  static_cast<void>(keys);
  refuse_recipe(setting);
}

/// auto_model.py: "auto" is the checkpoint's type, bf16 where a model is made from a configuration.
/// Gathered parameters are bf16 whatever the weights are (FSDP2Config.mp_policy).
void read_automodel_dtype(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const std::string type = setting.value.substr(setting.value.rfind('.') + 1);
  const std::string weights = type == "auto"
                                  ? std::string(checkpoint_type(model_of(all)).value_or("bf16"))
                              : type == "float32" || type == "fp32" ? "fp32"
                              : type == "float16" || type == "fp16" ? "fp16"
                                                                    : "bf16";
  offer(setting, "precision", weights, keys);
  if (weights == "fp32" && text_of(all, {"distributed.strategy"}).value_or("") == "fsdp2") {
    offer({"(mp_policy.param_dtype)", "bfloat16"}, "param-dtype", "bf16", keys);
  }
}

void read_automodel_length(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const auto packed = all.whole("packed_sequence.packed_sequence_size");
  const bool is_pack = setting.key.ends_with("packed_sequence_size");
  if (says_no(setting)) {
    note_off(setting, keys);
  } else if (!is_pack && packed.value_or(0) > 0) {
    keys.add_no_effect(setting.key, setting.value, "texts are packed to packed_sequence_size");
  } else {
    offer_whole(setting, "seq", keys);
  }
}

void read_automodel_checkpointing(const Setting& setting, const SettingList& all,
                                  SourceKeys& keys) {
  static_cast<void>(all);
  if (says_no(setting)) {
    note_off(setting, keys);
  } else if (setting.value == "selective") {
    keys.add_not_supported(setting.key, setting.value, "selected operators keep their outputs");
  } else {
    offer(setting, "checkpoint", "full", keys);
  }
}

void read_automodel_optimizer(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  const std::string_view name = last_name(setting.value);
  if (setting.value.starts_with("torch.optim.")) {
    offer(setting, "optimizer", common_key(name), keys);
  } else {
    keys.add_not_supported(setting.key, setting.value, "another library's optimizer");
  }
}

void read_automodel_loop(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const std::string_view name = last_name(setting.key);
  if (!text_of(all, {"optimizer._target_"}).value_or("").starts_with("torch.optim.")) {
    keys.add_no_effect(setting.key, setting.value, "read by torch's optimizers");
  } else if (!says_no(setting)) {
    offer(setting, "optimizer-impl", std::string(name), keys);
  } else if (name == "foreach" && !is_any_on(all, {"optimizer.fused"})) {
    offer(setting, "optimizer-impl", "loop", keys);
  } else {
    note_off(setting, keys);
  }
}

void read_automodel_loss(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  const std::string_view name = last_name(setting.value);
  if (name == "MaskedCrossEntropy") {
    keys.add_no_effect(setting.key, setting.value, "logits in fp32, as they are here");
  } else if (name == "FusedLinearCrossEntropy") {
    offer(setting, "loss", "fused", keys);
  } else {
    keys.add_not_supported(setting.key, setting.value, "another loss");
  }
}

/// module_matcher.py: '*' stands for any characters of a module's path.
std::string matching_layers(const Setting& setting, const std::string& layers) {
  std::string found;
  std::string_view rest = layers;
  while (!rest.empty()) {
    const std::string_view layer = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), layer.size() + 1));
    const bool is_wanted = std::ranges::any_of(setting.items, [&](const std::string& pattern) {
      return matches_key(last_name(pattern), layer);
    });
    found += is_wanted ? (found.empty() ? "" : ",") + std::string(layer) : "";
  }
  return found;
}

void read_automodel_targets(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const bool takes_all = is_any_on(all, {"peft.match_all_linear"});
  const bool is_flag = setting.key.ends_with("match_all_linear");
  const std::string layers = all_linear_layers(model_of(all));
  const std::string word = takes_all ? layers : matching_layers(setting, layers);
  if (is_flag != takes_all || (is_flag && says_no(setting))) {
    keys.add_no_effect(setting.key, setting.value, "read with the other key of targets");
  } else if (word.empty()) {
    keys.add_not_supported(setting.key, setting.value,
                           "a pattern of module names; give --lora-targets", "lora-targets");
  } else {
    offer(setting, "lora-targets", word, keys);
  }
}

void finish_automodel(const SettingList& all, SourceKeys& keys) {
  note_missing_file(all, keys);
  const bool has_adapter = first_like(all, "peft.*") != nullptr;
  if (has_adapter && first_like(all, "peft.dim") == nullptr) {
    offer({"(peft.dim)", "8"}, "lora", "8", keys);
  }
  // components/_peft/lora.py: adapters have the type of the layer that they stand beside.
  if (has_adapter && first_like(all, "peft.lora_dtype") == nullptr) {
    keys.add_not_supported("(peft.lora_dtype)", "the weights' own",
                           "adapters in the weights' type; simulated in fp32, as PEFT makes them");
  }
  const std::string size = text_of(all, {"distributed.dp_size"}).value_or("none");
  if (size == "none" || size == "None") {
    keys.add_not_supported("(gpus)", "not in this file", "the number of GPUs; give --dp", "dp");
  }
  // auto_model.py from_pretrained: use_liger_kernel unless told, where Liger knows the model.
  if (first_like(all, "model.use_liger_kernel") == nullptr) {
    keys.add_not_supported(
        "(use_liger_kernel)", "true",
        "Liger's kernels or Automodel's own layers, which save fewer activations");
  }
}

constexpr std::array kAutomodelReaders{
    NamedReader{"automodel_checkpointing", read_automodel_checkpointing},
    NamedReader{"automodel_class", read_automodel_class},
    NamedReader{"automodel_dtype", read_automodel_dtype},
    NamedReader{"automodel_length", read_automodel_length},
    NamedReader{"automodel_loop", read_automodel_loop},
    NamedReader{"automodel_loss", read_automodel_loss},
    NamedReader{"automodel_optimizer", read_automodel_optimizer},
    NamedReader{"automodel_recipe", read_automodel_recipe},
    NamedReader{"automodel_targets", read_automodel_targets},
    NamedReader{"automodel_teacher", read_automodel_teacher},
};

}  // namespace

const Program& automodel() {
  static const Program kProgram =
      program_of_facts("automodel", {kAutomodelReaders, hugging_face_readers()}, finish_automodel);
  return kProgram;
}

}  // namespace highwater::program_table
