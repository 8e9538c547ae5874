// PyTorch releases as data: each behaviour that differs between releases is a field of a preset.
//
// "2.6" is exact (confirmed by the conformance vectors, which the release itself produced). "2.11"
// was made by reading a source between 2.10 and 2.12 and has no vectors of its own.
#pragma once

#include <span>
#include <string_view>

namespace highwater {

/// When a memory fraction limits the process (setMemoryFraction).
enum class FractionRule {
  any_value,  ///< 2.6: every call sets a limit, also 1.0
  below_one,  ///< later: 1.0 means no limit
};

/// Which open pool session serves a stream that several accept.
enum class SessionOrder { oldest_first, newest_first };

/// What empty_cache does while a pool session is open.
enum class EmptyCacheInSession {
  refused,             ///< 2.6: internal assert, nothing is released
  skips_default_pools  ///< later: only freeable private pools are released
};

/// Which grammar reads PYTORCH_CUDA_ALLOC_CONF.
enum class SettingsGrammar {
  strict,    ///< 2.6: CUDAAllocatorConfig.cpp
  tolerant,  ///< later: AllocatorConfig.cpp plus the CUDA-only options
};

struct VersionPreset {
  std::string_view name;
  std::string_view basis;  ///< how far it can be trusted, one phrase for --help and the trust line
  FractionRule fraction = FractionRule::any_value;
  SessionOrder sessions = SessionOrder::oldest_first;
  EmptyCacheInSession empty_cache = EmptyCacheInSession::refused;
  SettingsGrammar grammar = SettingsGrammar::strict;
};

/// All presets, oldest first.
std::span<const VersionPreset> version_presets();

/// The preset called `name`. @throws UsageError for a name that does not exist, listing those that
/// do.
const VersionPreset& version_preset(std::string_view name);

/// The preset nearest to a release "major.minor", or the oldest when `release` is empty.
const VersionPreset& nearest_preset(std::string_view release);

}  // namespace highwater
