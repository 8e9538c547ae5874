#include "tools/validate_run.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <mutex>

#include "sim/parallel.hpp"
#include "tools/diff_report.hpp"
#include "traces/error.hpp"
#include "workloads/generate.hpp"

namespace highwater {
namespace {

/// Differences that are searched for exactly: more of them say no more.
constexpr std::size_t kMaxEdits = 300;

Usage as_usage(const RecordedUsage& usage) {
  return {usage.requested, usage.allocated, usage.active, usage.reserved};
}

void compare_steps(const RecordedCase& recorded, const PhasePeaks& simulated,
                   CaseValidation& result) {
  for (const RecordedStep& step : recorded.steps) {
    const auto found = std::ranges::find(simulated.steps, step.step, &StepPeak::step);
    const bool completed = found != simulated.steps.end() && found->complete;
    result.steps.push_back(
        {step.step, as_usage(step.peak), completed ? std::optional(found->peak) : std::nullopt});
  }
  result.simulated_oom = simulated.out_of_memory;
  if (simulated.out_of_memory && !simulated.steps.empty()) {
    result.simulated_oom_step = simulated.steps.back().step;
  }
}

/// Forms tell the peak of a whole run: one that was cut short has nothing to compare them with.
void compare_with_forms(const TrainingPlan& plan, CaseValidation& result) {
  const bool is_whole = std::ranges::all_of(
      result.steps, [](const auto& step) { return step.simulated.has_value(); });
  if (result.recorded_oom || result.steps.empty() || !is_whole) {
    return;
  }
  RunPeak recorded;
  RunPeak simulated;
  const auto raise = [](RunPeak& peak, const Usage& usage) {
    peak.allocated = std::max(peak.allocated, usage.allocated);
    peak.reserved = std::max(peak.reserved, usage.reserved);
  };
  for (const StepValidation& step : result.steps) {
    raise(recorded, step.recorded);
    raise(simulated, *step.simulated);
  }
  result.estimates = recorded_estimates(plan, recorded, simulated);
}

SequenceValidation compare_requests(const ComparedTrace& recorded, const ComparedTrace& simulated) {
  SequenceValidation result;
  const TraceDiff exact = diff_traces(recorded, simulated, {.max_edits = kMaxEdits});
  result.equal = exact.is_equal_from(std::nullopt);
  result.equal_from_step_1 = exact.is_equal_from(1);
  if (result.equal) {
    result.equal_from_step_1_any_free_order = true;
    return result;
  }
  const auto first = std::ranges::find_if_not(exact.phases, &PhaseDiff::is_equal);
  result.first_difference = phase_label(*first);
  const TraceDiff any_order =
      diff_traces(recorded, simulated, {.free_order = FreeOrder::ignored, .max_edits = kMaxEdits});
  result.equal_from_step_1_any_free_order = any_order.is_equal_from(1);
  for (const PhaseDiff& phase : any_order.phases) {
    result.only_recorded += phase.only_first;
    result.only_simulated += phase.only_second;
  }
  return result;
}

void simulate(const CaseFiles& files, const RecordedCase& recorded,
              const DerivedRecording& recording, CaseValidation& result) {
  const RequestTrace trace = generate(*recorded.plan);
  const PhasedReplay replayed =
      replay_with_phases(trace, replay_options(recorded, files.description));
  compare_steps(recorded, replayed.peaks, result);
  compare_with_forms(*recorded.plan, result);
  result.sequence = compare_requests(compared_trace(recording, &recorded), compared_trace(trace));
}

void validate(const CaseFiles& files, CaseValidation& result) {
  const RecordedCase recorded = load_case(files.description);
  result.id = recorded.id;
  result.status = recorded.status;
  result.recorded_oom = recorded.status == CaseStatus::out_of_memory;
  result.recorded_oom_step = recorded.oom_step;
  result.unsupported_reason = recorded.unsupported_reason;
  const auto recording = load_recording(files.recording, StackMode::skip);
  result.fidelity = replay_as_recorded(*recording->device, recording->derived, recording->settings,
                                       *recording->version)
                        .fidelity;
  if (recorded.plan) {
    simulate(files, recorded, *recording, result);
  }
}

std::string file_stem(const std::string& description) {
  const std::string name = description.substr(description.rfind('/') + 1);
  return name.substr(0, name.rfind(".json"));
}

}  // namespace

std::optional<double> error_of(const StepValidation& step, UsageFigure figure) {
  const auto recorded = static_cast<double>((step.recorded.*figure).count());
  if (!step.simulated || recorded == 0) {
    return std::nullopt;
  }
  return static_cast<double>(((*step.simulated).*figure).count()) / recorded - 1;
}

double worst_error(const CaseValidation& validation, UsageFigure figure) {
  double worst = 0;
  for (const StepValidation& step : validation.steps) {
    const double error = error_of(step, figure).value_or(0);
    worst = std::abs(error) > std::abs(worst) ? error : worst;
  }
  return worst;
}

ErrorSummary summarise_errors(const std::vector<CaseValidation>& cases, UsageFigure figure) {
  std::vector<double> errors;
  for (const CaseValidation& validation : cases) {
    for (const StepValidation& step : validation.steps) {
      if (const auto error = error_of(step, figure)) {
        errors.push_back(*error);
      }
    }
  }
  return summarise_errors(std::move(errors));
}

CaseValidation validate_case(const CaseFiles& files) {
  CaseValidation result;
  result.id = file_stem(files.description);
  result.path = files.description;
  try {
    validate(files, result);
  } catch (const std::exception& error) {  // also what the generator cannot do yet
    result.unsupported_reason = error.what();
    result.steps.clear();
    result.estimates.clear();
  }
  return result;
}

std::vector<CaseValidation> validate_cases(const std::vector<CaseFiles>& files,
                                           const std::function<void(std::size_t)>& progress) {
  std::vector<CaseValidation> results(files.size());
  std::size_t done = 0;
  std::mutex progress_lock;
  for_each_index(files.size(), [&](std::size_t i) {
    results[i] = validate_case(files[i]);
    const std::lock_guard lock(progress_lock);
    progress(++done);
  });
  return results;
}

}  // namespace highwater
