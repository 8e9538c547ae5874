// Which allocator settings serve a trace best, found by replaying it under them.
//
// The search tries every candidate of every option alone, then all combinations of the best two of
// each option. Survival of the run comes first, then a gain over the present settings of at least
// the noise, then peak reserved in steps of the noise above the lowest. Peaks in the same step
// count as equal: there the present settings win, then fewer options, then fewer retries and calls
// of the device. A setting that gains nothing is not worth the risk.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "sim/replay/replay.hpp"

namespace highwater {

/// One set of settings, replayed.
struct SettingsTrial {
  Settings settings;
  std::size_t options = 0;  ///< how many differ from PyTorch's defaults
  bool is_asked = false;    ///< one of those that search_settings() was given
  ReplayResult result;      ///< without map and timeline
  /// The smallest memory limit that survives; of the best few, the present settings and those that
  /// were asked for.
  std::optional<Bytes> smallest_limit;

  [[nodiscard]] bool survives() const { return result.counts.ooms == 0; }

  [[nodiscard]] std::uint64_t device_calls() const {
    return result.counts.device_alloc + result.counts.device_free;
  }
};

struct Advice {
  SettingsTrial present;              ///< the workload's own settings
  std::vector<SettingsTrial> trials;  ///< best first; the present ones are among them
  Bytes noise;                        ///< smaller differences of peak reserved mean nothing

  [[nodiscard]] const SettingsTrial& best() const { return trials.front(); }

  /// Whether `trial` is better than the present by more than noise: it survives where the present
  /// settings do not, or it reserves less.
  [[nodiscard]] bool gains(const SettingsTrial& trial) const;

  [[nodiscard]] bool is_worth_it() const { return gains(best()); }

  /// How far the lowest peak reserved of those that survive lies below that of the present
  /// settings.
  [[nodiscard]] Bytes most_gained() const;
};

/// Searches, and tries `asked` beside what it finds itself; `noise` as in Advice. `tried` is called
/// with the number of settings replayed and the number known so far. @throws InputError as replay()
Advice search_settings(
    const RequestTrace& trace, const ReplayOptions& options, Bytes noise,
    const std::vector<Settings>& asked = {},
    const std::function<void(std::size_t, std::size_t)>& tried = [](std::size_t, std::size_t) {});

}  // namespace highwater
