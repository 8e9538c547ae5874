// The steps of a plan as a function of what is drawn: each length is generated once, in a short run
// of that length alone, and cut into steps, or into micro-batches where these can be cut.
//
// A run of such pieces is meant to be, request by request, what the generator makes of a run with
// these lengths. Before anything is drawn that is tried: runs of some lengths mixed are generated
// and cut, and every piece must be the one made from its length alone. Where the pieces of
// micro-batches fail (a batch that is loaded whole), those of steps are tried; where these fail,
// too, the plan is refused.
#pragma once

#include <optional>

#include "sim/chance/ensemble.hpp"
#include "sim/chance/piece_store.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {

/// What the drawn load is of the experts' load.
enum class LoadKind : std::uint8_t { busiest, zipf };

class PlanSteps : public PieceSource {
 public:
  /// `tried`: draws on which it is tried, of lengths as different as can be. @throws InputError if
  /// steps cannot be cut so
  PlanSteps(TrainingPlan plan, LoadKind load, const std::vector<StepDraw>& tried);

  PiecePtr before_steps(const StepDraw& /*draw*/) override { return before_steps_; }

  void add_pieces(std::size_t step, const StepDraw& draw, std::vector<PiecePtr>& pieces) override;

  /// Whether each micro-batch is a piece.
  [[nodiscard]] bool cuts_micro_batches() const { return micro_batches_ > 1; }

 private:
  struct Made {
    PiecePtr before;
    std::vector<Piece> pieces;  ///< of all steps
  };

  /// Steps that are generated and made nothing of: one of the greatest length tells the model how
  /// long sequences may be, where its tables depend on that.
  enum class LastStep : std::uint8_t { kept, longest };

  [[nodiscard]] TrainingPlan plan_of(const std::vector<StepDraw>& steps) const;
  [[nodiscard]] std::optional<Made> made_of(const std::vector<StepDraw>& steps) const;
  [[nodiscard]] StepDraw part_of(const StepDraw& draw, std::size_t unit) const;
  [[nodiscard]] StepDraw whole_of(StepDraw part) const;
  PiecePtr piece(const PieceKey& key);
  bool prepare(const std::vector<StepDraw>& tried);
  bool find_first_steps(const StepDraw& draw);
  bool is_proved_by(const std::vector<StepDraw>& tried);

  TrainingPlan plan_;
  LoadKind load_;
  std::int64_t longest_ = 0;
  LastStep last_step_ = LastStep::kept;
  std::size_t micro_batches_ = 1;  ///< pieces of a step
  std::size_t first_steps_ = 0;    ///< before all steps are alike
  PiecePtr before_steps_;
  std::optional<PieceStore> store_;
};

}  // namespace highwater
