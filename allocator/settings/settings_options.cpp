#include "allocator/settings/settings_options.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include "traces/edit_distance.hpp"

namespace highwater {
namespace {

constexpr std::array kOptions{
    OptionRelease{"max_split_size_mb"},
    OptionRelease{"max_non_split_rounding_mb"},
    OptionRelease{"garbage_collection_threshold"},
    OptionRelease{"roundup_power2_divisions"},
    OptionRelease{"expandable_segments"},
    OptionRelease{"large_segment_size_mb", "2.11"},
    OptionRelease{"per_process_memory_fraction", "2.10"},
    OptionRelease{"graph_capture_record_stream_reuse", "2.10"},
    OptionRelease{"release_lock_on_cudamalloc"},
    OptionRelease{"release_lock_on_hipmalloc"},
    OptionRelease{"backend"},
    OptionRelease{"pinned_use_cuda_host_register"},
    OptionRelease{"pinned_use_hip_host_register"},
    OptionRelease{"pinned_num_register_threads"},
    OptionRelease{"pinned_reserve_segment_size_mb", "2.10"},
    OptionRelease{"pinned_use_background_threads"},
    OptionRelease{"pinned_free_catch_all", "2.12", OptionEffect::none},
    OptionRelease{"pinned_max_round_threshold_mb", "2.13", OptionEffect::none},
    OptionRelease{"pinned_max_cached_size_mb", "2.13", OptionEffect::none},
    OptionRelease{"throw_on_cudamalloc_oom", "2.12", OptionEffect::not_modelled},
    OptionRelease{"expandable_segments_reserve", "2.15", OptionEffect::not_modelled},
    OptionRelease{"expandable_segments_reserve_by_class", "2.15", OptionEffect::not_modelled},
};

/// Lower case, and only what precedes a '=' that was written for a ':'.
std::string normalized(std::string_view key) {
  std::string lower(key.substr(0, key.find('=')));
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

/// The first preset that knows `key`.
std::optional<std::string_view> preset_knowing(std::string_view key) {
  for (const VersionPreset& preset : version_presets()) {
    if (find_option(key, preset) != nullptr) {
      return preset.name;
    }
  }
  return std::nullopt;
}

/// Misspellings are close: at most four characters differ, and most of the name is right.
std::size_t tolerated_distance(std::string_view key) {
  return std::min<std::size_t>(4, key.size() / 3);
}

}  // namespace

std::vector<std::string_view> option_names(const VersionPreset& version) {
  std::vector<std::string_view> names;
  for (const OptionRelease& option : kOptions) {
    if (is_since(version, option.since)) {
      names.push_back(option.name);
    }
  }
  return names;
}

const OptionRelease* find_option(std::string_view name, const VersionPreset& version) {
  const auto* const found = std::ranges::find(kOptions, name, &OptionRelease::name);
  return found != kOptions.end() && is_since(version, found->since) ? found : nullptr;
}

std::optional<std::string> nearest_option(std::string_view key, const VersionPreset& version) {
  constexpr std::size_t kLongestKey = 64;  // longer ones are not misspellings, and cost time
  const std::string wanted = normalized(key);
  if (wanted.size() > kLongestKey) {
    return std::nullopt;
  }
  const std::vector<std::string_view> names = option_names(version);
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
  if (const auto preset = preset_knowing(unknown->key())) {
    return "; known to --torch " + std::string(*preset);
  }
  const auto nearest = nearest_option(unknown->key(), version);
  return nearest ? "; did you mean " + *nearest + "?" : "";
}

}  // namespace highwater
