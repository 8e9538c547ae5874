// The two grammars of a settings string; settings_parser.cpp chooses between them.
#pragma once

#include <cstdint>
#include <string_view>

#include "allocator/settings/settings.hpp"

namespace highwater::detail {

/// The largest number of threads that may register pinned memory.
inline constexpr std::uint64_t kMaxRegisterThreads = 128;

/// Applies `conf` in the grammar of 2.6. @throws SettingsError
void apply_strict(std::string_view conf, Settings& settings);

/// Applies `conf` in the grammar of the later releases. @throws SettingsError
void apply_tolerant(std::string_view conf, const VersionPreset& version, Settings& settings);

}  // namespace highwater::detail
