// Values of Megatron-LM's keys, with what stands for a key that is left out.
#pragma once

#include <cstdint>
#include <string_view>

#include "workloads/sources/settings/setting.hpp"

namespace highwater::program_table::megatron_keys {

inline std::int64_t whole_or(const SettingList& all, std::string_view key, std::int64_t otherwise) {
  return all.whole(key).value_or(otherwise);
}

/// Upper case does not count.
inline bool says(const SettingList& all, std::string_view key, std::string_view word) {
  const auto text = all.text(key);
  return text && is_same_key(*text, word);
}

/// Neither left out nor none, 0 or false.
inline bool is_set(const SettingList& all, std::string_view key) {
  const auto text = all.text(key);
  return text && *text != "false" && *text != "0" && *text != "none" && !text->empty();
}

}  // namespace highwater::program_table::megatron_keys
