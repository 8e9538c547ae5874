#include "allocator/version.hpp"

#include <array>
#include <charconv>
#include <cstdlib>
#include <string>

#include "traces/error.hpp"

namespace highwater {
namespace {

constexpr std::array<VersionPreset, 2> kPresets{{
    {.name = "2.6", .basis = "exact: confirmed by vectors recorded from the release"},
    {.name = "2.11",
     .basis = "by reading a source between 2.10 and 2.12, not confirmed by vectors",
     .fraction = FractionRule::below_one,
     .sessions = SessionOrder::newest_first,
     .empty_cache = EmptyCacheInSession::skips_default_pools,
     .grammar = SettingsGrammar::tolerant},
}};

/// "2.11" -> 2011; so that releases compare as numbers.
int release_number(std::string_view release) {
  int major = 0;
  int minor = 0;
  const char* const end = release.data() + release.size();
  const auto parsed = std::from_chars(release.data(), end, major);
  if (parsed.ptr != end) {
    std::from_chars(parsed.ptr + 1, end, minor);
  }
  return major * 1000 + minor;
}

}  // namespace

std::span<const VersionPreset> version_presets() {
  return kPresets;
}

const VersionPreset& version_preset(std::string_view name) {
  std::string known;
  for (const VersionPreset& preset : kPresets) {
    if (preset.name == name) {
      return preset;
    }
    known.append(known.empty() ? "" : ", ").append(preset.name);
  }
  throw UsageError("--torch " + std::string(name) + ": no such version preset; known: " + known);
}

const VersionPreset& nearest_preset(std::string_view release) {
  const VersionPreset* nearest = &kPresets.front();
  const int wanted = release.empty() ? release_number(nearest->name) : release_number(release);
  for (const VersionPreset& preset : kPresets) {
    if (std::abs(release_number(preset.name) - wanted) <
        std::abs(release_number(nearest->name) - wanted)) {
      nearest = &preset;
    }
  }
  return *nearest;
}

}  // namespace highwater
