// Keys of torchtitan's TOML files that mean something only with others.
//
// Sources: as torchtitan.cpp.
#pragma once

#include <cstdint>
#include <string_view>

#include "workloads/sources/rules/key_rule.hpp"

namespace highwater::program_table::titan_keys {

/// A key that moved from one section to another.
const Setting* find_moved(const SettingList& all, std::string_view name);

/// 1 where nobody says it.
std::int64_t degree_of(const SettingList& all, std::string_view name);

/// model.hf_assets_path and the section compile came in August 2025, after the embedding and the
/// head had become units of their own (28 July 2025).
bool has_unit_ends(const SettingList& all);

/// optimizer.implementation and the section parallelism are of February and March 2025.
bool is_of_2024(const SettingList& all);

/// Whether there is a pipeline.
bool has_stages(const SettingList& all);

// One for each key of its name (torchtitan.cpp).
void read_flavor(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_own_attention(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_converters(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_recipe(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_checkpointing(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_data_parallel_type(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_shards(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_copies(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_tensor_parallel(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_loss_parallel(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_reshard(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_schedule(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_stage_layers(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_end_layers(const Setting& setting, const SettingList& all, SourceKeys& keys);
void offer_batch(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_micro_batches(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_global_batch(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_compile(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_parameter_type(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_in_backward(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_clip(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_rotation(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_comm_mode(const Setting& setting, const SettingList& all, SourceKeys& keys);

/// The readers that several programs share, as the facts call them (shared_readers.cpp).
std::span<const NamedReader> torchtitan_readers();

}  // namespace highwater::program_table::titan_keys
