// FSDP's keys, as TrainingArguments, accelerate and axolotl name them: with "fsdp_" in front or
// without, at the top of a file or below fsdp_config.
//
// Sources: transformers 5.23 training_args.py _process_fsdp_args; accelerate 1.15
// commands/launch.py, utils/dataclasses.py FullyShardedDataParallelPlugin, utils/launch.py
// prepare_multi_gpu_env.
#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "workloads/sources/configuration_file.hpp"
#include "workloads/sources/programs/hugging_face/hugging_face.hpp"
#include "workloads/sources/programs/hugging_face/settings_facts.hpp"
#include "workloads/sources/settings/read_settings.hpp"

namespace highwater::program_table {
namespace {

constexpr std::string_view kOnlyFirst = "read by FSDP1 only";
constexpr std::string_view kNoShards = "FSDP is not asked for";

std::string fsdp_word(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](char c) { return std::tolower(static_cast<unsigned char>(c)); });
  return text;
}

bool shards_parameters(const SettingList& all) {
  const Sharding sharding = sharding_of(all);
  return sharding == Sharding::fsdp1 || sharding == Sharding::fsdp2;
}

/// torch.distributed.fsdp.ShardingStrategy counts from 1.
std::string strategy_word(const std::string& text) {
  constexpr std::array<std::string_view, 4> kByNumber{"full_shard", "shard_grad_op", "no_shard",
                                                      "hybrid_shard"};
  const auto number = whole_number(text);
  return number && *number >= 1 && *number <= 4
             ? std::string(kByNumber[static_cast<std::size_t>(*number - 1)])
             : fsdp_word(text);
}

void offer_offload(const Setting& setting, SourceKeys& keys) {
  offer(setting, "offload", "both", keys);
}

/// A key that FSDP1 alone reads, as the option that it is.
void offer_to_first(const Setting& setting, const SettingList& all, std::string_view option,
                    std::string word, SourceKeys& keys) {
  const Sharding sharding = sharding_of(all);
  if (sharding != Sharding::fsdp1) {
    keys.add_no_effect(setting.key, setting.value,
                       std::string(sharding == Sharding::fsdp2 ? kOnlyFirst : kNoShards));
  } else if (setting.kind == SettingKind::null) {
    keys.add_no_effect(setting.key, setting.value, "left to the default");
  } else {
    offer(setting, option, std::move(word), keys);
  }
}

std::string flag_of(const Setting& setting) {
  return says_no(setting) ? "false" : "true";
}

/// One word of the older "full_shard auto_wrap offload".
void read_fsdp_item(const Setting& setting, const std::string& item, const SettingList& all,
                    SourceKeys& keys) {
  const bool is_first = sharding_of(all) == Sharding::fsdp1;
  if (item == "offload") {
    offer_offload(setting, keys);
  } else if (item == "auto_wrap" || item == "true") {
    keys.add_no_effect(setting.key, item, "blocks are units, as they are here");
  } else if (is_first) {
    offer(setting, "strategy", item, keys);
  } else if (item == "full_shard" || item == "shard_grad_op") {
    offer(setting, "reshard", item == "full_shard" ? "always" : "never", keys);
  } else {
    keys.add_not_supported(setting.key, item, "FSDP2 has no such strategy");
  }
}

std::vector<std::string> items_of(const Setting& setting) {
  std::vector<std::string> items;
  std::string item;
  for (const char c : setting.value + ' ') {
    if (c != ' ' && c != ',') {
      item += c;
    } else if (!item.empty()) {
      items.push_back(fsdp_word(std::exchange(item, {})));
    }
  }
  return items;
}

}  // namespace

void offer_fsdp_kind(const SettingList& all, SourceKeys& keys) {
  const Sharding sharding = sharding_of(all);
  if (shards_parameters(all)) {
    offer({"(fsdp)", sharding == Sharding::fsdp1 ? "version 1" : "version 2"}, "dp-kind",
          sharding == Sharding::fsdp1 ? "fsdp1" : "fsdp2", keys);
  }
}

void read_fsdp(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (says_no(setting)) {
    return note_off(setting, keys);
  }
  for (const std::string& item : items_of(setting)) {
    read_fsdp_item(setting, item, all, keys);
  }
}

void read_fsdp_file(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (says_no(setting)) {
    return note_off(setting, keys);
  }
  const std::string text = setting.value.starts_with('{')
                               ? setting.value
                               : configuration_text(setting.value).value_or("");
  if (text.empty()) {
    keys.add_not_supported(setting.key, setting.value, "file not found");
    return;
  }
  SettingList part;
  SettingList with_file = all;
  const SettingList file = read_json_settings(text, setting.value);
  for (Setting row : file.list()) {
    // _process_fsdp_args: a key with the prefix replaces the one without it.
    if (file.find("fsdp_" + row.key) != nullptr) {
      keys.add_no_effect("fsdp_config." + row.key, row.value, "given again with fsdp_ in front");
      continue;
    }
    row.key = "fsdp_config." + row.key;
    with_file.add(row);
    part.add(std::move(row));
  }
  static const KeyTable kTable = key_table("fsdp", {hugging_face_readers()});
  apply_rules(kTable, part, with_file, keys);
}

void read_fsdp_version(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (!shards_parameters(all)) {
    keys.add_no_effect(setting.key, setting.value, std::string(kNoShards));
  } else {
    offer(setting, "dp-kind", setting.value == "1" ? "fsdp1" : "fsdp2", keys);
  }
}

void read_sharding_strategy(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  offer_to_first(setting, all, "strategy", strategy_word(setting.value), keys);
}

void read_reshard(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const bool is_trainer = first_like(all, "fsdp") != nullptr;
  if (sharding_of(all) == Sharding::fsdp2) {
    offer(setting, "reshard", says_no(setting) ? "never" : "always", keys);
  } else if (is_trainer) {
    offer_to_first(setting, all, "strategy", strategy_word(setting.value), keys);
  } else {
    keys.add_no_effect(setting.key, setting.value, "FSDP1 reads fsdp_sharding_strategy");
  }
}

void read_fsdp_offload(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (says_no(setting)) {
    note_off(setting, keys);
  } else if (!shards_parameters(all)) {
    keys.add_no_effect(setting.key, setting.value, std::string(kNoShards));
  } else {
    offer_offload(setting, keys);
  }
}

void read_wrap_policy(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const std::string policy = fsdp_word(setting.value);
  if (!shards_parameters(all) || policy == "transformer_based_wrap" ||
      setting.kind == SettingKind::null) {
    keys.add_no_effect(setting.key, setting.value, "blocks are units, as they are here");
  } else if (policy == "no_wrap") {
    keys.add_not_supported(setting.key, setting.value,
                           "the model is one unit, whose parameters are gathered all at once",
                           MemorySign::more);
  } else {
    keys.add_not_supported(setting.key, setting.value, "other units than blocks");
  }
}

void read_backward_prefetch(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const std::string word = fsdp_word(setting.value);
  const std::size_t mark = word.rfind('_');
  offer_to_first(
      setting, all, "backward-prefetch",
      word == "no_prefetch" || mark == std::string::npos ? "none" : word.substr(mark + 1), keys);
}

void read_forward_prefetch(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  offer_to_first(setting, all, "forward-prefetch", flag_of(setting), keys);
}

void read_use_orig_params(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  offer_to_first(setting, all, "use-orig-params", flag_of(setting), keys);
}

void read_limit_all_gathers(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  offer_to_first(setting, all, "limit-all-gathers", flag_of(setting), keys);
}

void read_efficient_loading(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (sharding_of(all) == Sharding::fsdp2) {
    offer(setting, "init", says_no(setting) ? "cpu" : "meta", keys);
  } else {
    keys.add_no_effect(setting.key, setting.value, "work and memory of the host");
  }
}

void read_fsdp_checkpointing(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (says_no(setting)) {
    note_off(setting, keys);
  } else if (!shards_parameters(all)) {
    keys.add_no_effect(setting.key, setting.value, std::string(kNoShards));
  } else {
    offer(setting, "checkpoint", "full", keys);
  }
}

void read_fsdp_policy(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const std::string type = fsdp_word(setting.value);
  if (says_no(setting) || !shards_parameters(all)) {
    keys.add_no_effect(setting.key, setting.value, "left to the default");
  } else {
    offer(setting, "param-dtype", type, keys);
    offer(setting, "reduce-dtype", type, keys);
  }
}

}  // namespace highwater::program_table
