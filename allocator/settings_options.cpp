#include "allocator/settings_options.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include "traces/edit_distance.hpp"

namespace highwater {
namespace {

constexpr std::array<std::string_view, 12> kStrictOptions{
    "max_split_size_mb",
    "max_non_split_rounding_mb",
    "garbage_collection_threshold",
    "roundup_power2_divisions",
    "expandable_segments",
    "release_lock_on_cudamalloc",
    "release_lock_on_hipmalloc",
    "backend",
    "pinned_use_cuda_host_register",
    "pinned_use_hip_host_register",
    "pinned_num_register_threads",
    "pinned_use_background_threads",
};

constexpr std::array<std::string_view, 16> kTolerantOptions{
    "max_split_size_mb",
    "max_non_split_rounding_mb",
    "garbage_collection_threshold",
    "roundup_power2_divisions",
    "expandable_segments",
    "large_segment_size_mb",
    "per_process_memory_fraction",
    "graph_capture_record_stream_reuse",
    "release_lock_on_cudamalloc",
    "release_lock_on_hipmalloc",
    "backend",
    "pinned_use_cuda_host_register",
    "pinned_use_hip_host_register",
    "pinned_num_register_threads",
    "pinned_reserve_segment_size_mb",
    "pinned_use_background_threads",
};

constexpr std::array<std::string_view, 6> kLaterOptions{
    "throw_on_cudamalloc_oom",
    "expandable_segments_reserve",
    "expandable_segments_reserve_by_class",
    "pinned_free_catch_all",
    "pinned_max_round_threshold_mb",
    "pinned_max_cached_size_mb",
};

/// Lower case, and only what precedes a '=' that was written for a ':'.
std::string normalized(std::string_view key) {
  std::string lower(key.substr(0, key.find('=')));
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

/// The preset whose grammar has `key` when that of `version` has not.
std::optional<std::string_view> preset_knowing(std::string_view key, const VersionPreset& version) {
  for (const VersionPreset& preset : version_presets()) {
    if (preset.grammar != version.grammar &&
        std::ranges::count(option_names(preset.grammar), key) != 0) {
      return preset.name;
    }
  }
  return std::nullopt;
}

/// Misspellings are close: at most four characters, and most of the name is right.
std::size_t tolerated_distance(std::string_view key) {
  return std::min<std::size_t>(4, key.size() / 3);
}

}  // namespace

std::span<const std::string_view> option_names(SettingsGrammar grammar) {
  if (grammar == SettingsGrammar::strict) {
    return kStrictOptions;
  }
  return kTolerantOptions;
}

std::span<const std::string_view> later_option_names() {
  return kLaterOptions;
}

std::optional<std::string> nearest_option(std::string_view key, const VersionPreset& version) {
  constexpr std::size_t kLongestKey = 64;  // longer ones are no misspelling, and cost time
  const std::string wanted = normalized(key);
  if (wanted.empty() || wanted.size() > kLongestKey) {
    return std::nullopt;
  }
  const auto names = option_names(version.grammar);
  const auto distance = [&](std::string_view name) { return edit_distance(wanted, name); };
  const auto best = std::ranges::min_element(names, {}, distance);
  if (distance(*best) > tolerated_distance(wanted)) {
    return std::nullopt;
  }
  return std::string(*best);
}

std::string suggestion(const SettingsError& error, const VersionPreset& version) {
  const auto* const unknown = dynamic_cast<const UnknownOptionError*>(&error);
  if (unknown == nullptr) {
    return "";
  }
  if (const auto preset = preset_knowing(unknown->key(), version)) {
    return "; known to --torch " + std::string(*preset);
  }
  const auto nearest = nearest_option(unknown->key(), version);
  return nearest ? "; did you mean " + *nearest + "?" : "";
}

}  // namespace highwater
