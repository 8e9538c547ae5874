// The readers of keys that mean something only with other keys of the file: functions in C++,
// which the facts name.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "workloads/sources/plan_source.hpp"
#include "workloads/sources/settings/setting.hpp"

namespace highwater {

/// Decides what becomes of a key.
using ReadKey = void (*)(const Setting& setting, const SettingList& all, SourceKeys& keys);

struct NamedReader {
  std::string_view name;  ///< as the facts call it: {"read": "length", "keys": [...]}
  ReadKey read;
};

/// Tables of readers; the first that has a name counts.
using Readers = std::vector<std::span<const NamedReader>>;

}  // namespace highwater
