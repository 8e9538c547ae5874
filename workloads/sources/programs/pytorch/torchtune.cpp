// torchtune's YAML files and launch lines: tune run RECIPE --config FILE key=value ...
//
// Sources: torchtune 0.3 to 0.6.1, recipes/*.py and recipes/configs; torchtune/models/*/
// _model_builders.py; training/_distributed.py.
#include <algorithm>
#include <array>
#include <string>

#include "traces/error.hpp"
#include "workloads/plan/optimizer_table.hpp"
#include "workloads/sources/programs/pytorch/torchtune_models.hpp"
#include "workloads/sources/rules/program_table.hpp"
#include "workloads/sources/rules/reasons.hpp"

namespace highwater::program_table {
namespace {

using namespace reasons;

constexpr std::string_view kOtherTraining =
    "a recipe that is not supervised fine-tuning takes other memory; record it (highwater record)";

/// Losses of preferences and rewards, and a teacher, are trained otherwise.
bool trains_otherwise(const SettingList& all) {
  const std::string loss = all.text("loss._component_").value_or("");
  const bool is_other_loss =
      loss.find("rlhf") != std::string::npos || loss.find(".rl.") != std::string::npos;
  constexpr std::array<std::string_view, 5> kSecondModels{
      "teacher_model._component_", "policy_model._component_", "ref_checkpointer._component_",
      "reward_and_value_model._component_", "orchestration.num_steps"};
  return is_other_loss || std::ranges::any_of(kSecondModels, [&](std::string_view key) {
           return all.find(key) != nullptr;
         });
}

/// quantize_base, in torchtune's own layers or, in families that are simulated as transformers',
/// in bitsandbytes' with the same number of bits.
void offer_nf4(const Setting& setting, const std::string& family, SourceKeys& keys) {
  offer(setting, "quantize", "nf4", keys);
  if (!family.empty()) {
    offer({"(quantize_base)", family}, "double-quant", "true", keys);
    offer({"(quantize_base)", family}, "prepare-kbit", "false", keys);
    keys.add_not_supported("(quantize_base)", family,
                           "torchao's NF4 of this family; simulated as bitsandbytes'");
  }
}

void read_builder(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const BuilderName name = builder_name(setting.value);
  const std::string word = tune_model(name.model, all);
  if (trains_otherwise(all)) {
    keys.add_not_supported(setting.key, setting.value, std::string(kOtherTraining), "model");
    return;
  }
  if (word.empty()) {
    keys.add_not_supported(setting.key, setting.value, "no known model of that name; give --model",
                           "model");
    return;
  }
  offer(setting, "model", word, keys);
  if (const std::string family = foreign_family(word); !family.empty()) {
    offer({"(model-code)", family}, "model-code", "hf", keys);
    keys.add_not_supported("(torchtune.models)", family,
                           "torchtune's own layers of this family; simulated as transformers'");
  }
  if (name.has_magnitudes) {
    offer(setting, "dora", "true", keys);
  }
  if (name.is_quantised) {
    offer_nf4(setting, foreign_family(word), keys);
  }
  if (name.has_adapters && all.find("model.lora_rank") == nullptr) {
    offer({"model.lora_rank", "8"}, "lora", "8", keys);
  }
}

/// The builders "qlora_..." say it already.
void read_quantize_base(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const BuilderName name = builder_name(all.text("model._component_").value_or(""));
  if (setting.value != "true") {
    keys.add_no_effect(setting.key, setting.value, "off, as it is here");
  } else if (name.is_quantised) {
    keys.add_no_effect(setting.key, setting.value, "as the builder has it");
  } else {
    offer_nf4(setting, foreign_family(tune_model(name.model, all)), keys);
  }
}

/// transformers' layers of Phi-3 are one for queries, keys and values, and one for gate and up.
std::string fused_targets(const std::string& targets) {
  constexpr std::array kLayers{
      ValueWord{"q_proj", "qkv_proj"},        ValueWord{"k_proj", "qkv_proj"},
      ValueWord{"v_proj", "qkv_proj"},        ValueWord{"o_proj", "o_proj"},
      ValueWord{"gate_proj", "gate_up_proj"}, ValueWord{"down_proj", "down_proj"},
      ValueWord{"lm_head", "lm_head"}};
  std::string fused;
  for (const ValueWord& layer : kLayers) {
    const bool is_new = fused.find(layer.word) == std::string::npos;
    if (targets.find(layer.value) != std::string::npos && is_new) {
      fused += (fused.empty() ? "" : ",") + std::string(layer.word);
    }
  }
  return fused;
}

/// The names of torchtune's linear layers are PEFT's but for the last of attention.
std::string lora_targets(const SettingList& all) {
  const Setting* const modules = all.find("model.lora_attn_modules");
  std::string targets;
  if (modules != nullptr) {
    for (const std::string& item : modules->items) {
      targets += (targets.empty() ? "" : ",") + (item == "output_proj" ? "o_proj" : item);
    }
  }
  targets += all.is_on("model.apply_lora_to_mlp") ? ",gate_proj,up_proj,down_proj" : "";
  return targets + (all.is_on("model.apply_lora_to_output") ? ",lm_head" : "");
}

void read_lora_modules(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const std::string builder = all.text("model._component_").value_or("");
  const bool is_fused = foreign_family(tune_model(builder_name(builder).model, all)) == "phi3";
  const std::string targets = lora_targets(all);
  offer(setting, "lora-targets", is_fused ? fused_targets(targets) : targets, keys);
}

/// Batches are as long as their longest text, and packed ones as max_seq_len.
void read_length(const Setting& setting, const SettingList& /*all*/, SourceKeys& keys) {
  if (setting.kind == SettingKind::null) {
    keys.add_not_supported(setting.key, setting.value,
                           "batches are as long as their longest text; give --seq", "seq");
  } else {
    offer(setting, "seq", setting.value, keys);
  }
}

void read_tune_loss(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const std::string name = setting.value.substr(setting.value.rfind('.') + 1);
  const std::string chunks = all.text("loss.num_output_chunks").value_or("8");
  if (name == "CEWithChunkedOutputLoss" || name == "LinearCrossEntropyLoss") {
    offer(setting, "loss", "chunked-" + chunks, keys);
  } else if (name == "CrossEntropyLoss") {
    offer(setting, "loss", "flat", keys);
  } else {
    keys.add_not_supported(setting.key, setting.value, std::string(kOtherTraining));
  }
}

void read_tune_optimizer(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const std::string name = setting.value.substr(setting.value.rfind('.') + 1);
  const auto row = std::ranges::find_if(optimizer_table(), [&](const OptimizerRow& each) {
    return std::ranges::find(each.torchtune, name) != each.torchtune.end();
  });
  if (row == optimizer_table().end()) {
    keys.add_not_supported(setting.key, setting.value, "an optimizer with other states");
    return;
  }
  offer(setting, "optimizer", std::string(row->word), keys);
  if (row->word.ends_with("bit")) {
    offer(setting, "optimizer-impl", "default", keys);
  } else if (all.find("optimizer.fused") == nullptr) {
    offer({"optimizer.fused", "left out"}, "optimizer-impl",
          all.is_on("optimizer.foreach") ? "foreach" : "default", keys);
  }
}

void read_fused(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const std::string optimizer = all.text("optimizer._component_").value_or("");
  if (!optimizer.starts_with("torch.") && !optimizer.empty()) {
    keys.add_no_effect(setting.key, setting.value, "torch's optimizers alone");
  } else {
    offer(setting, "optimizer-impl", setting.value == "true" ? "fused" : "default", keys);
  }
}

/// fused=True decides alone; the loop is one where both are off.
void read_foreach(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (all.is_on("optimizer.fused")) {
    keys.add_no_effect(setting.key, setting.value, "fused");
  } else {
    offer(setting, "optimizer-impl", setting.value == "true" ? "foreach" : "loop", keys);
  }
}

void read_activation_checkpoints(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const std::string mode = all.text("ac_mode").value_or("");
  const std::string option = all.text("ac_option").value_or("");
  if (setting.value != "true") {
    keys.add_no_effect(setting.key, setting.value, "off, as it is here");
  } else if (mode == "selective" && !option.empty()) {
    offer(setting, "checkpoint", option == "op" ? "selective-op" : "every-" + option, keys);
  } else {
    offer(setting, "checkpoint", "full", keys);
  }
}

/// Only the recipes over several GPUs have the key, and they shard (training/_distributed.py
/// shard_model).
void read_cpu_offload(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (setting.value != "true") {
    keys.add_no_effect(setting.key, setting.value, "off, as it is here");
    return;
  }
  offer(setting, "dp-kind", "fsdp2", keys);
  offer(setting, "offload", "params", keys);
  if (all.find("data_parallel_shard_dim") == nullptr) {
    keys.add_not_supported("(gpus)", "not in this file", "the number of GPUs; give --dp", "dp");
  }
}

void read_offloading(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (setting.value != "true") {
    keys.add_no_effect(setting.key, setting.value, "off, as it is here");
  } else if (all.is_on("fsdp_cpu_offload") || all.is_on("fsdp.cpu_offload")) {
    keys.add_not_supported(setting.key, setting.value,
                           "activations go to the host beside parameters", MemorySign::less);
  } else {
    offer(setting, "offload", "activations", keys);
  }
}

void read_shard_degree(const Setting& setting, const SettingList& /*all*/, SourceKeys& keys) {
  if (setting.value == "-1") {
    keys.add_no_effect(setting.key, setting.value, "all ranks that are left (--dp)");
  } else {
    offer(setting, "dp", setting.value, keys);
  }
}

void read_tune_tp(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  offer(setting, "tp", setting.value, keys);
  if (all.whole(setting.key).value_or(1) > 1) {
    offer(setting, "tp-kind", "dtensor", keys);
  }
}

/// --config names a file of the package: "llama3_1/8B_lora".
void read_config_name(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (all.find("model._component_") != nullptr) {
    keys.add_no_effect(setting.key, setting.value, "read beside this line");
  } else {
    keys.add_not_supported(setting.key, setting.value,
                           "a file of torchtune's; copy it with 'tune cp' and name the copy",
                           "model");
  }
}

/// Recipes that generate text or evaluate have no optimizer.
void refuse_without_training(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (all.find("optimizer._component_") == nullptr) {
    throw InputError("", setting.key, "this recipe generates text or evaluates, and trains nothing",
                     "give the file of a recipe that trains");
  }
  keys.add_no_effect(setting.key, setting.value, std::string(kInference));
}

/// Without a norm to clip to nothing is clipped; without max_seq_len the data decides.
void finish_torchtune(const SettingList& all, SourceKeys& keys) {
  offer({"(torchtune)", "recipe"}, "framework", "torchtune", keys);
  if (all.find("tokenizer.max_seq_len") == nullptr && all.find("model._component_") != nullptr) {
    keys.add_not_supported("tokenizer.max_seq_len", "left out",
                           "batches are as long as their longest text; give --seq", "seq");
  }
}

constexpr std::array kTuneReaders{
    NamedReader{"activation_checkpoints", read_activation_checkpoints},
    NamedReader{"builder", read_builder},
    NamedReader{"config_name", read_config_name},
    NamedReader{"cpu_offload", read_cpu_offload},
    NamedReader{"foreach", read_foreach},
    NamedReader{"fused", read_fused},
    NamedReader{"length", read_length},
    NamedReader{"lora_modules", read_lora_modules},
    NamedReader{"offloading", read_offloading},
    NamedReader{"quantize_base", read_quantize_base},
    NamedReader{"refuse_without_training", refuse_without_training},
    NamedReader{"shard_degree", read_shard_degree},
    NamedReader{"tune_loss", read_tune_loss},
    NamedReader{"tune_optimizer", read_tune_optimizer},
    NamedReader{"tune_tp", read_tune_tp},
};

}  // namespace

const Program& torchtune() {
  static const Program kProgram = program_of_facts("torchtune", {kTuneReaders}, finish_torchtune);
  return kProgram;
}

}  // namespace highwater::program_table
