// NeMo's YAML files of Megatron GPT, and launch lines with Hydra's overrides:
// python megatron_gpt_pretraining.py model.micro_batch_size=1 trainer.devices=8 ...
//
// Sources: NeMo 1.20 to 2.0, examples/nlp/language_modeling/conf and tuning/conf;
// nemo/collections/nlp/models/language_modeling/megatron_base_model.py, megatron_gpt_model.py.
#include <array>
#include <string>

#include "workloads/sources/programs/megatron/megatron_readers.hpp"
#include "workloads/sources/rules/program_table.hpp"
#include "workloads/sources/rules/reasons.hpp"

namespace highwater::program_table {
namespace {

using namespace reasons;
using namespace megatron_keys;

constexpr std::string_view kAdapters = "NeMo's own adapters on a frozen model";

/// Under Apex's distributed Adam parameters are bf16; without megatron_amp_O2 they are fp32 under
/// autocast.
void read_nemo_precision(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const bool is_bf16 = setting.value.starts_with("bf16");
  const bool is_half = setting.value == "16" || setting.value.starts_with("16");
  const bool is_o2 = all.is_on("megatron_amp_O2");
  if (!is_bf16 && !is_half) {
    offer(setting, "precision", "fp32", keys);
  } else if (is_o2) {
    offer(setting, "precision", is_bf16 ? "bf16" : "fp16", keys);
  } else {
    offer(setting, "precision", is_bf16 ? "amp-bf16" : "amp-fp16", keys);
  }
}

void read_nemo_devices(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const auto devices = all.whole(setting.key);
  const auto nodes = all.find("trainer.num_nodes") == nullptr ? 1 : all.whole("trainer.num_nodes");
  if (devices && nodes && *devices > 0) {
    offer(setting, "gpus", std::to_string(*devices * *nodes), keys);
  } else {
    keys.add_not_supported(setting.key, setting.value, "the number of GPUs; give --dp", "dp");
  }
}

/// distributed_fused_adam is Apex's; mcore_distributed_optim is Megatron-Core's.
void read_nemo_optimizer(const Setting& setting, const SettingList& /*all*/, SourceKeys& keys) {
  if (setting.value == "distributed_fused_adam") {
    offer(setting, "framework", "nemo", keys);
  } else if (setting.value == "mcore_distributed_optim") {
    offer(setting, "framework", "megatron", keys);
    offer(setting, "dp-kind", "zero1", keys);
  } else if (setting.value == "fused_adam" || setting.value == "adam" || setting.value == "adamw") {
    offer(setting, "framework", "megatron", keys);
    offer(setting, "dp-kind", "ddp", keys);
  } else {
    keys.add_not_supported(setting.key, setting.value, "an optimizer with other states");
  }
}

bool runs_apex(const SettingList& all) {
  return all.text("optim.name").value_or("distributed_fused_adam") == "distributed_fused_adam";
}

void read_bucket(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (runs_apex(all)) {
    offer(setting, "apex-bucket-mb", setting.value, keys);
  } else {
    keys.add_no_effect(setting.key, setting.value, "read by distributed_fused_adam only");
  }
}

void read_contiguous(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (runs_apex(all)) {
    offer(setting, "apex-contiguous-grads", setting.value, keys);
  } else {
    keys.add_no_effect(setting.key, setting.value, "read by distributed_fused_adam only");
  }
}

/// Megatron-Core's two switches under the names of Apex's.
void read_overlap(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const bool is_gather = setting.key.ends_with("overlap_param_sync");
  if (runs_apex(all)) {
    keys.add_no_effect(setting.key, setting.value, "when Apex's buckets are sent");
  } else {
    offer(setting, is_gather ? "overlap-param-gather" : "overlap-grad-reduce", setting.value, keys);
  }
}

void read_nemo_attention(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const bool runs_engine = all.is_on("transformer_engine") || all.is_on("mcore_gpt");
  if (setting.value == "true" || runs_engine) {
    offer(setting, "attention", "sdpa-flash", keys);
  } else {
    offer(setting, "attention", "eager", keys);
  }
}

/// Groups of layers, or the first ones of a stage.
void read_nemo_layers(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const bool is_full = all.text("activations_checkpoint_granularity") == "full";
  const bool is_uniform = all.text("activations_checkpoint_method") != "block";
  if (!is_full || setting.kind == SettingKind::null) {
    keys.add_no_effect(setting.key, setting.value, "read with granularity full only");
  } else if (is_uniform && setting.value == "1") {
    keys.add_no_effect(setting.key, setting.value, "each layer is recomputed, as it is here");
  } else {
    keys.add_not_supported(setting.key, setting.value, "other layers are recomputed");
  }
}

void read_scheme(const Setting& setting, const SettingList& /*all*/, SourceKeys& keys) {
  if (setting.kind == SettingKind::null || setting.value == "none") {
    keys.add_no_effect(setting.key, setting.value, "the whole model is trained");
  } else {
    offer(setting, "lora", "8", keys);
    keys.add_not_supported(setting.key, setting.value, std::string(kAdapters), MemorySign::less);
  }
}

/// A checkpoint has its own sizes.
void read_restored(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (setting.kind == SettingKind::null || all.whole("num_layers")) {
    keys.add_no_effect(setting.key, setting.value, std::string(kFiles));
  } else {
    keys.add_not_supported(setting.key, setting.value, "the model of a checkpoint; give --model",
                           "model");
  }
}

/// Without an optimizer named, files of these releases have fused_adam.
void finish_nemo(const SettingList& all, SourceKeys& keys) {
  if (!all.text("optim.name")) {
    offer({"(nemo)", "its default"}, "framework", "nemo", keys);
  }
  if (all.find("use_flash_attention") == nullptr) {
    read_nemo_attention({"use_flash_attention", "left out"}, all, keys);
  }
}

constexpr std::array kNemoReaders{
    NamedReader{"bucket", read_bucket},
    NamedReader{"contiguous", read_contiguous},
    NamedReader{"nemo_attention", read_nemo_attention},
    NamedReader{"nemo_devices", read_nemo_devices},
    NamedReader{"nemo_layers", read_nemo_layers},
    NamedReader{"nemo_optimizer", read_nemo_optimizer},
    NamedReader{"nemo_precision", read_nemo_precision},
    NamedReader{"overlap", read_overlap},
    NamedReader{"restored", read_restored},
    NamedReader{"scheme", read_scheme},
};

}  // namespace

const Program& nemo() {
  static const Program kProgram =
      program_of_facts("nemo", {kNemoReaders, megatron_readers()}, finish_nemo);
  return kProgram;
}

}  // namespace highwater::program_table
