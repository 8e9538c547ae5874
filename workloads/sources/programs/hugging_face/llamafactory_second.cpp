// YAML files of LLaMA-Factory's second version (v1/), a loop of its own.
//
// Source: LLaMA-Factory of August 2026 (commit ff6d4d1): v1/config/*.py, v1/core/base_trainer.py,
// v1/core/model_engine.py.
#include <array>

#include "traces/error.hpp"
#include "workloads/sources/programs/hugging_face/hub_models.hpp"
#include "workloads/sources/programs/hugging_face/hugging_face.hpp"
#include "workloads/sources/programs/hugging_face/settings_facts.hpp"
#include "workloads/sources/rules/program_table.hpp"

namespace highwater::program_table {
namespace {

/// v1/core/base_trainer.py: non-reentrant.
void read_v1_checkpointing(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  offer(setting, "checkpoint", says_no(setting) ? "none" : "full", keys);
}

/// v1/core/model_engine.py: weights in the checkpoint's type; sharded ones compute in bf16.
void read_v1_half(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const std::string_view kept = checkpoint_type(model_of(all)).value_or("bf16");
  if (sharding_of(all) == Sharding::deepspeed) {
    offer(setting, "precision", says_no(setting) ? "fp32" : "bf16", keys);
  } else {
    offer(setting, "precision", std::string(kept), keys);
  }
}

void read_v1_strategy(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  if (setting.value == "fsdp2") {
    offer(setting, "dp-kind", "fsdp2", keys);
    offer(setting, "param-dtype", "bf16", keys);
  } else if (setting.value == "deepspeed") {
    keys.add_no_effect(setting.key, setting.value, "read with dist_config.config_file");
  } else {
    keys.add_not_supported(setting.key, setting.value,
                           "another way to spread a model; give --dp-kind", "dp-kind");
  }
}

void read_v1_peft(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  if (setting.value == "lora" || says_no(setting)) {
    keys.add_no_effect(setting.key, setting.value, "read with peft_config.r");
  } else {
    throw InputError("", setting.key + " " + setting.value,
                     "only whole models and LoRA are simulated, not this kind of training",
                     "record the run instead (highwater record)");
  }
}

void read_v1_kernels(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  if (says_no(setting) || setting.value == "auto") {
    keys.add_no_effect(setting.key, setting.value, "kernels of NPUs, none of GPUs");
  } else {
    keys.add_not_supported(setting.key, setting.value,
                           "fused kernels, which save fewer activations", MemorySign::less);
  }
}

void read_v1_optim(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  if (setting.kind == SettingKind::null) {
    keys.add_no_effect(setting.key, setting.value, "left to the default");
  } else {
    offer(setting, "optimizer", setting.value, keys);
  }
}

void read_v1_global_batch(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  if (setting.kind == SettingKind::null) {
    keys.add_no_effect(setting.key, setting.value, "left to the default");
  } else {
    keys.add_not_supported(setting.key, setting.value, "the batch of all ranks; give --grad-accum",
                           "grad-accum");
  }
}

/// v1/core/base_trainer.py: a loop of its own with AdamW of torch.
constexpr std::array kFactorySecondReaders{
    NamedReader{"v1_checkpointing", read_v1_checkpointing},
    NamedReader{"v1_global_batch", read_v1_global_batch},
    NamedReader{"v1_half", read_v1_half},
    NamedReader{"v1_kernels", read_v1_kernels},
    NamedReader{"v1_optim", read_v1_optim},
    NamedReader{"v1_peft", read_v1_peft},
    NamedReader{"v1_strategy", read_v1_strategy},
};

}  // namespace

const Program& llamafactory_second() {
  static const Program kProgram =
      program_of_facts("llamafactory_second", {kFactorySecondReaders, hugging_face_readers()});
  return kProgram;
}

}  // namespace highwater::program_table
