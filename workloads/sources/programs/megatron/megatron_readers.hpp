// Keys of Megatron-LM that mean something only with others: its model, and how it is split.
//
// Source: Megatron-LM (August 2026), megatron/training/arguments.py validate_args;
// megatron/training/argument_utils.py core_transformer_config_from_args.
#pragma once

#include "workloads/sources/rules/key_rule.hpp"

namespace highwater::program_table::megatron_keys {

// One for each key of its name (megatron_rules.hpp).
void read_model(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_part_length(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_dropout(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_activation(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_clip(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_sequence_parallel(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_cp_type(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_expert_tp(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_distributed(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_layer_wise_layout(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_fsdp(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_sharding(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_granularity(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_recomputed_layers(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_recomputed_modules(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_global_batch(const Setting& setting, const SettingList& all, SourceKeys& keys);
/// Megatron-DeepSpeed.
void read_megatron_deepspeed(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_rampup(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_layers_per_chunk(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_chunks(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_empty_level(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_layer_freq(const Setting& setting, const SettingList& all, SourceKeys& keys);

void read_experts(const Setting& setting, const SettingList& all, SourceKeys& keys);

void read_balancing(const Setting& setting, const SettingList& all, SourceKeys& keys);

void read_capacity(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_softmax_fusion(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_fp8(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_flash_switch(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_fusion(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_unfused_sum(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_loss_fusion(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_modules_of_layers(const Setting& setting, const SettingList& all, SourceKeys& keys);

/// The readers that several programs share, as the facts call them (shared_readers.cpp).
std::span<const NamedReader> megatron_readers();

}  // namespace highwater::program_table::megatron_keys
