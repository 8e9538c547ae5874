// Does memory grow from step to step, by what, and when does it run out?
//
// Growth (robust_growth.hpp) is measured over the complete steps; where steps are marked rather
// than detected, the first is left out: it also sets up optimizer states and caches. A figure grows
// when the low end of its interval does.
//
//   leak           allocated bytes at step ends grow
//   larger_steps   not that, but the peaks of allocated do: steps need more and more
//   fragmentation  neither, but reserved does, beyond what the highest allocated so far needs
//
// Three steps suffice for a leak, since step ends are equal when nothing leaks. Peaks vary with the
// shapes, and in one run of six, three in a row rise by chance: so the other two verdicts need five
// steps, and a total growth of at least 5 % of the figure, since over thousands of steps any trend
// is significant.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/replay/replay.hpp"
#include "sim/steps/leaks.hpp"
#include "sim/steps/robust_growth.hpp"
#include "sim/steps/training_steps.hpp"

namespace highwater {

struct StepUsage {
  StepSpan span;
  Usage peak;  ///< each at its own moment, after an operation or when the step began
  Usage end;
  std::uint64_t retries = 0;  ///< attempts after the whole cache was released
  bool ran_out = false;
};

enum class GrowthVerdict : std::uint8_t {
  too_few_steps,  ///< fewer than three to look at
  none,
  leak,
  larger_steps,
  fragmentation,
};

/// "too few steps", "none", "leak", "larger steps", "fragmentation".
std::string_view to_string(GrowthVerdict verdict);

/// A block that the program freed and another stream still holds at the end of the replay.
struct PendingFree {
  AllocationId allocation;
  StackId stack;
  StreamId stream;              ///< that it was allocated on
  Bytes size;                   ///< as asked for
  std::uint64_t operation = 0;  ///< of its free request
  std::uint64_t age = 0;        ///< operations since then
};

/// When `limit` is reached if memory goes on growing, counted from the last complete step: 1 is the
/// next one, 0 is now.
struct Forecast {
  Bytes limit;
  double steps = 0;
  double earliest = 0;  ///< by the high end of the growth
  double latest = 0;    ///< by the low end
};

struct MemoryGrowth {
  GrowthVerdict verdict = GrowthVerdict::too_few_steps;
  std::vector<StepUsage> steps;       ///< those that the replay reached
  std::vector<std::size_t> examined;  ///< indices into `steps` of those the growths are of
  Growth reserved;                    ///< of the peak of reserved
  Growth peak;                        ///< of the peak of allocated
  Growth end;                         ///< of allocated at step ends
  Growth unexplained;                ///< of reserved at step ends less the highest allocated so far
  std::vector<LeakSite> leaks;       ///< find_leaks(), whatever the verdict is
  std::vector<PendingFree> pending;  ///< oldest first
  Bytes pending_bytes;               ///< their sum

  /// By the line through the peaks of reserved, or of allocated where reserved does not grow.
  /// Absent when neither does.
  [[nodiscard]] std::optional<Forecast> forecast(Bytes limit) const;
};

/// Of the replay of `trace` that `tracker` has observed; `steps` as find_steps() returns them.
MemoryGrowth growth_seen(const RequestTrace& trace, const Steps& steps,
                         class GrowthTracker& tracker);

}  // namespace highwater
