// Rules of single keys of DeepSpeed's JSON file.
//
// Source: deepspeed 0.19.8 runtime/config.py, runtime/engine.py, runtime/zero/config.py,
// runtime/zero/offload_config.py.
#pragma once

#include <cstdint>

#include "workloads/sources/programs/hugging_face/settings_facts.hpp"
#include "workloads/sources/rules/key_rule.hpp"

namespace highwater::program_table {

/// The stage that the settings name, or 0.
std::int64_t zero_stage_of(const SettingList& all);

/// Notes a key that the engine without ZeRO (stage 0) never reads. @returns whether it did
bool note_without_zero(const Setting& setting, const SettingList& all, SourceKeys& keys);

/// A flag of ZeRO's stages.
template <FixedText kOption>
void read_zero_flag(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (setting.kind == SettingKind::null || setting.value == "auto") {
    keys.add_no_effect(setting.key, setting.value, "left to the default");
  } else if (!note_without_zero(setting, all, keys)) {
    offer(setting, kOption.text, setting.value, keys);
  }
}

/// A size of ZeRO's stages.
template <FixedText kOption>
void read_zero_size(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (!note_without_zero(setting, all, keys)) {
    read_whole<kOption>(setting, all, keys);
  }
}

void read_zero_offload(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_offload_ratio(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_ds_batch(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_ds_train_batch(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_ds_half(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_ds_autocast(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_ds_optimizer(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_ds_torch_adam(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_reduce_bucket(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_prefetch_bucket(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_persistence(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_sub_group(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_allgather_bucket(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_hpz(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_ds_checkpointing(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_autotp(const Setting& setting, const SettingList& all, SourceKeys& keys);

}  // namespace highwater::program_table
