// Which points of a sweep need no replay where only the best runs are asked for.
//
// A bound says of a point that it runs out of memory, or without any limit that it fits and
// reserves at least so much. The first runs, as many as are shown and as good as the bounds can
// tell, set a bar: what the bounds show to be neither among the best, nor the run that the
// conclusion names, is counted and not replayed. The bar depends on nothing but the question, so
// every process leaves out the same points.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tools/studies/sweep/sweep_result.hpp"

namespace highwater {

enum class KnownOutcome : std::uint8_t { unknown, out_of_memory, fits };

/// What is known of a point without a replay.
struct PointBound {
  KnownOutcome outcome = KnownOutcome::unknown;
  Bytes least;                        ///< reserved, if it fits
  std::optional<std::int64_t> batch;  ///< of the batch axis
};

/// Of a point whose run holds at least `least` at a time, if it serves every request.
PointBound bound_of(const SweepPoint& point, std::optional<Bytes> least);

class SweepBar {
 public:
  /// Rules nothing out.
  SweepBar() = default;

  /// `runs` are known; the best `top` are shown.
  SweepBar(std::vector<SweepRun> runs, std::size_t top);

  [[nodiscard]] const std::vector<SweepRun>& runs() const { return runs_; }

  /// Whether the run of the point is known.
  [[nodiscard]] bool has(std::uint64_t point) const;

  /// Whether as many runs fit as are shown.
  [[nodiscard]] bool is_set() const { return worst_shown_.has_value(); }

  [[nodiscard]] bool rules_out(const PointBound& bound) const;

 private:
  std::vector<SweepRun> runs_;        ///< by point
  std::optional<Bytes> worst_shown_;  ///< reserved by the last run that is shown; absent: no bar
  std::optional<std::int64_t> preferred_batch_;
  Bytes preferred_reserved_;
};

}  // namespace highwater
