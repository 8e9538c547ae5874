// Where the requests of a training step come from, as a function of what is drawn for it.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "sim/chance/piece.hpp"

namespace highwater {

/// What chance decides about a step.
struct StepDraw {
  std::vector<std::int64_t> lengths;  ///< tokens per sequence, of each micro-batch
  std::int64_t load = 0;              ///< hundredths of what spreads the experts' load
  std::int64_t lag = 0;               ///< how late events of other streams complete

  auto operator<=>(const StepDraw&) const = default;
};

class PieceSource {
 public:
  PieceSource() = default;
  PieceSource(const PieceSource&) = delete;
  PieceSource& operator=(const PieceSource&) = delete;
  virtual ~PieceSource() = default;

  /// What a run whose first step is `draw` requests before it.
  virtual PiecePtr before_steps(const StepDraw& draw) = 0;

  /// The pieces of step number `step`, in order, added to `pieces`. Many threads ask at a time.
  virtual void add_pieces(std::size_t step, const StepDraw& draw,
                          std::vector<PiecePtr>& pieces) = 0;
};

}  // namespace highwater
