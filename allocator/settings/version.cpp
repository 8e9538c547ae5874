#include "allocator/settings/version.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>

#include "traces/error.hpp"
#include "traces/release.hpp"

namespace highwater {
namespace {

/// A copy of `preset` for the next release, to be changed where that release differs.
constexpr VersionPreset next(VersionPreset preset, std::string_view name, std::string_view basis) {
  preset.name = name;
  preset.basis = basis;
  return preset;
}

constexpr std::array<VersionPreset, 7> make_presets() {
  constexpr VersionPreset v2_6{.name = "2.6",
                               .basis = "exact: confirmed by vectors recorded from the release"};
  VersionPreset v2_8 = next(v2_6, "2.8", "exact: confirmed by vectors recorded from 2.8 and 2.9");
  v2_8.empty_cache = EmptyCacheInSession::skips_default_pools;
  VersionPreset v2_10 = next(v2_8, "2.10", "exact: confirmed by vectors recorded from the release");
  v2_10.fraction = FractionRule::below_one;
  v2_10.sessions = SessionOrder::newest_first;
  v2_10.grammar = SettingsGrammar::tolerant;
  const VersionPreset v2_11 =
      next(v2_10, "2.11", "exact: confirmed by vectors recorded from the release");
  VersionPreset v2_12 =
      next(v2_11, "2.12", "exact: confirmed by vectors recorded from the release");
  v2_12.ties = TieOrder::by_block_age;
  VersionPreset v2_13 =
      next(v2_12, "2.13", "exact: confirmed by vectors recorded from 2.13 and 2.14");
  v2_13.ties = TieOrder::by_segment_age;
  v2_13.open_pool = OpenPool::changes_nothing;
  const VersionPreset v2_15 =
      next(v2_13, "2.15", "exact: confirmed by vectors recorded from the release");
  return {v2_6, v2_8, v2_10, v2_11, v2_12, v2_13, v2_15};
}

constexpr std::array<VersionPreset, 7> kPresets = make_presets();

}  // namespace

std::span<const VersionPreset> version_presets() {
  return kPresets;
}

bool is_newer_than_known(std::string_view release) {
  return release_of(release) > release_of(kNewestTorch);
}

bool was_recorded(std::string_view release) {
  const Release wanted = release_of(release);
  return wanted >= release_of(kPresets.front().name) && wanted <= release_of(kNewestTorch);
}

bool is_since(const VersionPreset& version, std::string_view release) {
  return release_of(version.name) >= release_of(release);
}

const VersionPreset& version_preset(std::string_view name) {
  if (!was_recorded(name) && !is_newer_than_known(name)) {
    std::string known;
    for (const VersionPreset& preset : kPresets) {
      known.append(known.empty() ? "" : ", ").append(preset.name);
    }
    throw UsageError("--torch " + std::string(name) + ": unknown release; use one of " + known +
                     " or a later one (each holds until the next)");
  }
  return nearest_preset(name);
}

const VersionPreset& nearest_preset(std::string_view release) {
  const Release wanted = release_of(release);
  const auto later = std::ranges::find_if(
      kPresets, [&](const VersionPreset& preset) { return release_of(preset.name) > wanted; });
  return later == kPresets.begin() ? kPresets.front() : *std::prev(later);
}

}  // namespace highwater
