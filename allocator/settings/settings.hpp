// The allocator's settings: the contents of PYTORCH_CUDA_ALLOC_CONF (PYTORCH_ALLOC_CONF in later
// releases) as a plain struct, and the exact grammar that reads it.
//
// Accepts what the named release accepts and refuses what it refuses, in PyTorch's own words.
// Source: CUDAAllocatorConfig.{h,cpp} of PyTorch 2.6.0; for the later preset AllocatorConfig.h and
// CUDAAllocatorConfig.{h,cpp} of about 2.11, confirmed by the releases' own answers (conf_cases.tsv
// in tests/data/conformance/releases).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "allocator/settings/constants.hpp"
#include "allocator/settings/version.hpp"
#include "traces/units.hpp"

namespace highwater {

struct Settings {
  /// Blocks of this size or more are not split for smaller requests (max_split_size_mb).
  Bytes max_split_size = kUnlimited;
  /// A request of max_split_size or more takes a cached block up to this much larger.
  Bytes max_non_split_rounding_size = kLargeBuffer;
  /// Share of the memory limit above which old cached blocks are freed; 0 = off.
  double garbage_collection_threshold = 0;
  /// Divisions per power of two: entry i is for sizes from 2^i MiB, the first also below; 0 = off.
  std::array<std::uint64_t, 16> roundup_power2_divisions{};
  bool expandable_segments = false;
  /// Segment size for requests of 1 to 10 MiB and page of large expandable segments; 20 MiB in 2.6.
  Bytes large_segment_size = kLargeBuffer;
  /// Memory fraction set by the settings string (later releases only).
  std::optional<double> per_process_memory_fraction;
  // Accepted and kept for printing; they do not affect the model's decisions.
  bool release_lock_on_cudamalloc = false;
  bool pinned_use_cuda_host_register = false;
  bool pinned_use_background_threads = false;
  bool graph_capture_record_stream_reuse = false;
  std::uint64_t pinned_num_register_threads = 1;

  bool operator==(const Settings&) const = default;
};

/// Reads `conf` as a process that starts with it would. @throws SettingsError with PyTorch's own
/// reason.
Settings parse_settings(std::string_view conf, const VersionPreset& version);

/// Applies `conf` to a running process (setAllocatorSettings): max_split_size, the divisions and
/// the garbage collection threshold return to their defaults first, the others keep their value.
/// @throws SettingsError; `settings` may then be partly changed, as in PyTorch.
void apply_settings(std::string_view conf, const VersionPreset& version, Settings& settings);

/// A settings string that parse_settings reads back as the same Settings; "" for the defaults.
std::string to_conf(const Settings& settings);

}  // namespace highwater
