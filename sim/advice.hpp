// Which allocator settings serve a trace best, found by replaying it under them.
//
// The search tries every candidate of every option alone, then all combinations of the best two of
// each option. Survival of the run comes first, then peak reserved, then calls of the device and
// retries. Peaks that differ by less than the noise count as equal, and then fewer options win: a
// setting that gains nothing is not worth its risk.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "sim/replay.hpp"

namespace highwater {

/// One set of settings, replayed.
struct SettingsTrial {
  Settings settings;
  std::size_t options = 0;  ///< how many differ from PyTorch's defaults
  ReplayResult result;      ///< without map and timeline
  /// The smallest memory limit that survives; of the best few and of the present settings only.
  std::optional<Bytes> smallest_limit;

  [[nodiscard]] bool survives() const { return result.counts.ooms == 0; }

  [[nodiscard]] std::uint64_t device_calls() const {
    return result.counts.device_alloc + result.counts.device_free;
  }
};

struct Advice {
  SettingsTrial present;              ///< the subject's own settings
  std::vector<SettingsTrial> trials;  ///< best first; the present ones are among them
  Bytes noise;                        ///< differences of peak reserved below this say nothing

  [[nodiscard]] const SettingsTrial& best() const { return trials.front(); }

  /// Whether the best is better than the present by more than noise: it survives where the present
  /// settings do not, or it reserves less.
  [[nodiscard]] bool is_worth_it() const;
};

/// Searches; `noise` as in Advice. @throws InputError as replay()
Advice search_settings(const RequestTrace& trace, const ReplayOptions& options, Bytes noise);

}  // namespace highwater
