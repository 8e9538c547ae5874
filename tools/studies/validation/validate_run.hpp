// Simulation against recorded truth, case by case.
//
// Each recording is replayed through the allocator model (fidelity), and the same case is simulated
// from its description alone. The error of a figure is simulated / recorded - 1, for the peaks of
// every step that the recorded run completed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/recordings/fidelity.hpp"
#include "sim/replay/replay_result.hpp"
#include "tools/fleet/fleet.hpp"
#include "tools/studies/estimates/error_summary.hpp"
#include "tools/studies/validation/recorded_estimates.hpp"
#include "tools/studies/validation/recorded_index.hpp"
#include "tools/studies/validation/recorded_run.hpp"
#include "workloads/plan/framework.hpp"
#include "workloads/recorded/case_status.hpp"

namespace highwater {

/// Memory outside the allocator, as the driver counts it on a real device.
struct OutsideValidation {
  Bytes recorded;
  Bytes simulated;  ///< outside_memory()
};

/// The peaks of one completed step. `simulated` is absent when the simulation did not get there.
struct StepValidation {
  std::uint64_t step = 0;
  Usage recorded;
  std::optional<Usage> simulated;
  std::optional<OutsideValidation> outside = std::nullopt;  ///< absent: not recorded
};

/// How the requests of the simulation compare with the recorded ones.
struct SequenceValidation {
  bool equal = false;              ///< all of them
  bool equal_from_step_1 = false;  ///< those from step 1 on
  bool equal_from_step_1_any_free_order = false;
  std::uint64_t only_recorded = 0;  ///< requests of one side alone, with the order of frees ignored
  std::uint64_t only_simulated = 0;
  std::string first_difference;  ///< the phase that has it; empty if equal
};

/// What makes the requests that are compared with the recorded ones: model or torch.
struct ValidationEngine {
  EngineKind kind = EngineKind::model;
  std::string python = kDefaultPython;
};

struct CaseValidation {
  std::string id;    ///< with the engine, if that is PyTorch
  std::string path;  ///< of the description
  CaseStatus status = CaseStatus::ok;
  CaseHalf half = CaseHalf::unmarked;
  std::optional<Fidelity> fidelity;
  Bytes peak_reserved_replayed;  ///< of the recorded requests, beside fidelity's recorded one
  std::vector<StepValidation> steps;
  bool recorded_oom = false;
  bool simulated_oom = false;
  std::optional<std::uint64_t> recorded_oom_step;  ///< absent: before step 0, or none
  std::optional<std::uint64_t> simulated_oom_step;
  SequenceValidation sequence;
  std::vector<RecordedEstimate> estimates;  ///< none unless both runs completed all steps
  std::string unsupported_reason;           ///< why it was not simulated; empty if it was

  [[nodiscard]] bool is_simulated() const { return unsupported_reason.empty(); }

  /// Both ran out of memory in the same step, or neither did.
  [[nodiscard]] bool ends_alike() const {
    return recorded_oom == simulated_oom && recorded_oom_step == simulated_oom_step;
  }
};

/// A figure of Usage.
using UsageFigure = Bytes Usage::*;

/// simulated / recorded - 1; absent without a simulated figure or with nothing recorded.
std::optional<double> error_of(const StepValidation& step, UsageFigure figure);

/// simulated / recorded - 1; absent without a figure of the driver's.
std::optional<double> outside_error(const StepValidation& step);

/// The error of largest magnitude over the steps of a case, 0 for none.
double worst_error(const CaseValidation& validation, UsageFigure figure);
double worst_outside_error(const CaseValidation& validation);

/// Of all (case, step).
ErrorSummary summarise_errors(const std::vector<CaseValidation>& cases, UsageFigure figure);
ErrorSummary summarise_outside_errors(const std::vector<CaseValidation>& cases);

/// The cases of one half.
std::vector<CaseValidation> cases_of(const std::vector<CaseValidation>& cases, CaseHalf half);

/// Never throws for a damaged file: the reason is then in `unsupported_reason`.
CaseValidation validate_case(const CaseFiles& files, const ValidationEngine& engine = {});

/// All cases in order; a case is a piece. Their halves are those of the index in each folder.
/// @throws InputError for a damaged index
std::vector<CaseValidation> validate_cases(const std::vector<CaseFiles>& files, Fleet& fleet,
                                           const ValidationEngine& engine = {});

}  // namespace highwater
