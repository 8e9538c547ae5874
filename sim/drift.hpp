// Does memory grow from step to step, by what, and when does it run out?
//
// Growth is the Theil-Sen slope over the complete steps without the first (which also sets up
// optimizer states and caches): the median of the slopes between all pairs of steps, with Sen's
// 95 % interval (Sen, J. Amer. Statist. Assoc. 63, 1968, section 5). A figure grows when even the
// lower end of the interval is above 0.
//
//   leak           allocated bytes at step ends grow
//   larger_steps   not that, but the peaks of allocated do: steps need more and more
//   fragmentation  neither, but reserved does, beyond what the highest allocated so far needs
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/periods.hpp"
#include "sim/replay.hpp"

namespace highwater {

/// Bytes per step; negative when shrinking.
struct Growth {
  double per_step = 0;
  double low = 0;  ///< 95 % interval
  double high = 0;

  [[nodiscard]] bool grows() const { return low > 0; }
};

/// Theil-Sen slope of values at positions 0, 1, ...; all 0 for fewer than three values. Beyond 1000
/// values, 1000 of them evenly spaced.
Growth robust_growth(const std::vector<Bytes>& values);

struct StepUsage {
  StepSpan span;
  Usage peak;  ///< each at its own moment
  Usage end;
  std::uint64_t retries = 0;  ///< attempts after the whole cache was released
  bool ran_out = false;
};

enum class DriftVerdict : std::uint8_t {
  too_few_steps,  ///< fewer than three complete steps after the first
  none,
  leak,
  larger_steps,
  fragmentation,
};

/// "too few steps", "none", "leak", "larger steps", "fragmentation".
std::string_view to_string(DriftVerdict verdict);

/// Blocks of one call stack that outlive the step that made them, step after step.
struct LeakSite {
  StackId stack;              ///< none: no stack was recorded; then sites are told apart by size
  std::optional<Bytes> size;  ///< of each block, when told apart by it
  Bytes bytes;                ///< alive at the end, of all steps counted
  std::uint64_t blocks = 0;
  std::uint64_t steps = 0;    ///< steps that left some behind
  double bytes_per_step = 0;  ///< bytes / steps examined
};

/// A block that the program freed and another stream still holds at the end of the replay.
struct PendingFree {
  AllocationId allocation;
  StackId stack;
  StreamId stream;              ///< that it was allocated on
  Bytes size;                   ///< as asked for
  std::uint64_t operation = 0;  ///< of its free request
  std::uint64_t age = 0;        ///< operations since then
};

/// When `limit` is reached if it goes on like this, counted from the last complete step: 1 is the
/// next one; 0 is now.
struct Forecast {
  Bytes limit;
  double steps = 0;
  double earliest = 0;           ///< by the high end of the growth
  std::optional<double> latest;  ///< by the low end; absent: maybe never
};

struct Drift {
  DriftVerdict verdict = DriftVerdict::too_few_steps;
  std::vector<StepUsage> steps;
  Growth reserved;                   ///< of the peak of reserved
  Growth peak;                       ///< of the peak of allocated
  Growth end;                        ///< of allocated at step ends
  Growth unexplained;                ///< of reserved at step ends less the highest allocated so far
  std::vector<LeakSite> leaks;       ///< most bytes first; also where the verdict is another one
  std::vector<PendingFree> pending;  ///< oldest first
  Bytes pending_bytes;               ///< their sum

  /// By the growth of reserved, or of the peak of allocated where reserved does not grow. Absent
  /// when neither does.
  [[nodiscard]] std::optional<Forecast> forecast(Bytes limit) const;
};

/// Replays `trace` under `options` (observer and listener are replaced) and looks at `steps`, as
/// find_steps() returns them.
Drift measure_drift(const RequestTrace& trace, const Steps& steps, ReplayOptions options);

}  // namespace highwater
