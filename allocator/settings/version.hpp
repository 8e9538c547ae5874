// PyTorch releases as data: each behaviour that differs between releases is a field of a preset.
//
// A preset is named after the first release that behaves this way and holds until the next one. All
// are confirmed by vectors that the releases themselves produced: tests/data/conformance for 2.6,
// and its folder releases/ for later releases.
#pragma once

#include <span>
#include <string_view>

namespace highwater {

/// When a memory fraction limits the process (setMemoryFraction).
enum class FractionRule {
  any_value,  ///< until 2.9: every call sets a limit, also 1.0
  below_one,  ///< 2.10: 1.0 means no limit
};

/// Which open pool session serves a stream that several accept.
enum class SessionOrder {
  oldest_first,  ///< until 2.9
  newest_first,  ///< 2.10
};

/// What empty_cache does while the allocator is held back (see OpenPool).
enum class EmptyCacheInSession {
  refused,             ///< until 2.7: internal assert, nothing is released
  skips_default_pools  ///< 2.8: only freeable private pools are released
};

/// Which free block is chosen among those of one size.
enum class TieOrder {
  by_address,  ///< until 2.11: the lowest address
  /// 2.12: the block created first; when a block is split, the front part counts as new (pull
  /// request 178362)
  by_block_age,
  /// 2.13: the one in the oldest segment or reservation, at the lowest address there (pull request
  /// 183591)
  by_segment_age,
};

/// What an open pool that no graph is captured into means for everything else.
enum class OpenPool {
  holds_back,  ///< until 2.12: as a graph capture: no events are processed, no cache is released
  /// 2.13: nothing; only a capture holds back (is_capture_context, pull request 181830)
  changes_nothing,
};

/// Which grammar reads PYTORCH_CUDA_ALLOC_CONF.
enum class SettingsGrammar {
  strict,    ///< until 2.9: CUDAAllocatorConfig.cpp
  tolerant,  ///< 2.10: AllocatorConfig.cpp plus the CUDA-only options
};

struct VersionPreset {
  std::string_view name;   ///< the first release that behaves this way
  std::string_view basis;  ///< how reliable it is, in one phrase for --help and the trust line
  FractionRule fraction = FractionRule::any_value;
  SessionOrder sessions = SessionOrder::oldest_first;
  EmptyCacheInSession empty_cache = EmptyCacheInSession::refused;
  TieOrder ties = TieOrder::by_address;
  OpenPool open_pool = OpenPool::holds_back;
  SettingsGrammar grammar = SettingsGrammar::strict;
};

/// Whether the preset's release is `release` ("major.minor") or a later one.
bool is_since(const VersionPreset& version, std::string_view release);

/// Whether the release "major.minor" is among those that the presets were recorded from.
bool was_recorded(std::string_view release);

/// Whether the release came after all of those.
bool is_newer_than_known(std::string_view release);

/// All presets, oldest first.
std::span<const VersionPreset> version_presets();

/// The preset of the release `name`: of that name, or the last one before it; the newest for
/// releases that came later. @throws UsageError for anything older than 2.6, listing the presets.
const VersionPreset& version_preset(std::string_view name);

/// The preset of a release "major.minor": as version_preset, but the oldest for earlier releases
/// (and for none, ""), the newest for later ones.
const VersionPreset& nearest_preset(std::string_view release);

}  // namespace highwater
