// Megatron Bridge: its YAML of overrides, and launch lines of its recipes:
// torchrun run_recipe.py --recipe llama3_8b_pretrain_2gpu_h100_bf16_config train.micro_batch_size=1
//
// Sources: Megatron Bridge (August 2026), scripts/training/run_recipe.py, recipe_runner.py;
// src/megatron/bridge/training/config.py ConfigContainer; recipes/common.py _pretrain_common.
#include <array>
#include <string>

#include "workloads/sources/programs/megatron/megatron_bridge_recipes.hpp"
#include "workloads/sources/programs/megatron/megatron_readers.hpp"
#include "workloads/sources/rules/program_table.hpp"

namespace highwater::program_table {
namespace {

using namespace megatron_keys;

bool is_given(const SettingList& all, std::string_view key, std::string_view flag = {}) {
  return all.find(key) != nullptr || (!flag.empty() && all.find(flag) != nullptr);
}

void offer_overlaps(const BridgeRecipe& recipe, const Setting& setting, const SettingList& all,
                    SourceKeys& keys) {
  if (!is_given(all, "overlap_grad_reduce")) {
    offer(setting, "overlap-grad-reduce", recipe.overlaps, keys);
  }
  if (!is_given(all, "overlap_param_gather")) {
    offer(setting, "overlap-param-gather", recipe.overlaps, keys);
  }
}

/// The recipe's own values where the line does not change them.
void offer_recipe(const BridgeRecipe& recipe, const Setting& setting, const SettingList& all,
                  SourceKeys& keys) {
  const bool has_tp = is_given(all, "tensor_model_parallel_size", "tp");
  offer(setting, "model", std::string(recipe.model), keys);
  if (!has_tp) {
    offer(setting, "tp", recipe.tp, keys);
  }
  if (!is_given(all, "pipeline_model_parallel_size", "pp")) {
    offer(setting, "pp", recipe.pp, keys);
    if (!recipe.chunks.empty() && !is_given(all, "virtual_pipeline_model_parallel_size", "vp")) {
      offer(setting, "pp-schedule", "interleaved", keys);
      offer(setting, "pp-chunks", recipe.chunks, keys);
    }
  }
  if (!is_given(all, "context_parallel_size", "cp")) {
    offer(setting, "cp", recipe.cp, keys);
  }
  if (!is_given(all, "sequence_parallel") && !has_tp && recipe.tp != "1") {
    offer(setting, "sp", recipe.sp, keys);
  }
  if (!is_given(all, "seq_length", "sl")) {
    offer(setting, "seq", recipe.seq, keys);
  }
  if (!is_given(all, "global_batch_size", "gb")) {
    offer(setting, "global-batch", recipe.global_batch, keys);
  }
  if (!is_given(all, "micro_batch_size", "mb")) {
    offer(setting, "batch", recipe.batch, keys);
  }
  offer_overlaps(recipe, setting, all, keys);
  // _sft_common packs texts offline.
  if (recipe.packs_offline && !is_given(all, "enable_offline_packing")) {
    keys.add_not_supported("(dataset.enable_offline_packing)", "true",
                           "packed sequences with attention by sequence");
  }
}

void read_recipe_name(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const BridgeRecipe* const known = find_bridge_recipe(setting.value);
  if (known == nullptr) {
    keys.add_not_supported(setting.key, setting.value,
                           setting.value.find("_peft_") != std::string::npos
                               ? "adapters on a frozen model, in Megatron Bridge's own way; give "
                                 "--model for the whole model's training"
                               : "a recipe in Python that is not among the known ones (Llama, "
                                 "Qwen2); give --model and what it sets",
                           "model");
    keys.add_not_supported("(recipe)", setting.value,
                           "what it sets beside the model, such as tp, pp and lengths");
  } else {
    offer_recipe(*known, setting, all, keys);
  }
}

void read_bridge_mode(const Setting& setting, const SettingList& /*all*/, SourceKeys& keys) {
  if (setting.value == "pretrain" || setting.value == "sft") {
    keys.add_no_effect(setting.key, setting.value, "the whole model is trained");
  } else {
    keys.add_not_supported(setting.key, setting.value, "adapters on a frozen model",
                           MemorySign::less);
  }
}

void read_bridge_precision(const Setting& setting, const SettingList& /*all*/, SourceKeys& keys) {
  if (setting.value == "bf16_mixed") {
    offer(setting, "precision", "bf16", keys);
  } else if (setting.value == "16_mixed") {
    offer(setting, "precision", "fp16", keys);
  } else {
    keys.add_not_supported(setting.key, setting.value, "float8 or four-bit products");
  }
}

/// _pretrain_common: bf16 with gradients in fp32, the distributed optimizer, both overlaps.
void finish_bridge(const SettingList& all, SourceKeys& keys) {
  const Setting own{"(Megatron Bridge)", "recipes/common.py"};
  offer(own, "framework", "megatron", keys);
  if (!is_given(all, "mixed_precision") && !is_given(all, "bf16") && !is_given(all, "fp16")) {
    offer(own, "precision", "bf16", keys);
  }
  if (!is_given(all, "use_distributed_optimizer")) {
    offer(own, "dp-kind", "zero1", keys);
  }
  const bool has_recipe = find_bridge_recipe(all.text("recipe").value_or("")) != nullptr;
  if (!has_recipe && !is_given(all, "overlap_grad_reduce")) {
    offer(own, "overlap-grad-reduce", "true", keys);
  }
  if (!has_recipe && !is_given(all, "overlap_param_gather")) {
    offer(own, "overlap-param-gather", "true", keys);
  }
}

constexpr std::array kBridgeReaders{
    NamedReader{"bridge_mode", read_bridge_mode},
    NamedReader{"bridge_precision", read_bridge_precision},
    NamedReader{"recipe_name", read_recipe_name},
};

}  // namespace

const Program& megatron_bridge() {
  static const Program kProgram =
      program_of_facts("megatron_bridge", {kBridgeReaders, megatron_readers()}, finish_bridge);
  return kProgram;
}

}  // namespace highwater::program_table
