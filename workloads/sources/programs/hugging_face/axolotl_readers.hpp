// Rules of single keys of axolotl's YAML files.
//
// Source: axolotl of July 2026 (commit 067b021): utils/config/__init__.py, core/builders/base.py,
// loaders/model.py.
#pragma once

#include "workloads/sources/rules/key_rule.hpp"

namespace highwater::program_table {

void read_axolotl_half(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_axolotl_fp8(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_axolotl_checkpointing(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_axolotl_adapter(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_attention_flag(const Setting& setting, const SettingList& all, SourceKeys& keys);
/// Whether the file asks for weights in 4 bits beside an adapter with which axolotl does not read
/// them so.
bool keeps_4bit_weights_whole(const SettingList& all);
void read_axolotl_4bit(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_axolotl_packing(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_axolotl_batch_size(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_axolotl_fsdp(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_axolotl_compile(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_fused_loss(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_axolotl_plugins(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_axolotl_rl(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_experts(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_mxfp4(const Setting& setting, const SettingList& all, SourceKeys& keys);

}  // namespace highwater::program_table
