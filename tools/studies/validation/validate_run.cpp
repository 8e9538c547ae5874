#include "tools/studies/validation/validate_run.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/engine/engine.hpp"
#include "tools/studies/runs/result_codecs.hpp"
#include "traces/error.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/recorded/recorded_case.hpp"
#include "workloads/training/generate.hpp"
#include "workloads/training/outside_memory.hpp"

namespace highwater {

template <>
inline constexpr std::size_t kEnumerators<CaseHalf> = 4;
template <>
inline constexpr std::size_t kEnumerators<CaseStatus> = 3;

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

void compare_outside(const RecordedCase& recorded, CaseValidation& result) {
  for (std::size_t i = 0; i < recorded.steps.size(); ++i) {
    if (const auto outside = recorded.steps[i].outside) {
      result.steps[i].outside = OutsideValidation{*outside, outside_memory(*recorded.plan).total()};
    }
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

std::string engine_suffix(const ValidationEngine& engine) {
  return engine.kind == EngineKind::model ? "" : ", by PyTorch";
}

/// @throws InputError for a plan that PyTorch cannot be given
RequestTrace carried_out(TrainingPlan plan, const ValidationEngine& engine) {
  if (engine.kind == EngineKind::model) {
    return generate(plan);
  }
  plan.engine = engine.kind;
  plan.python = engine.python;
  std::vector<std::string> problems;
  choose_engine(plan, problems);
  if (!problems.empty()) {
    throw InputError("", "", fmt::format("{}", fmt::join(problems, "; ")), "");
  }
  return make_run(plan).trace;
}

void simulate(const CaseFiles& files, const RecordedCase& recorded,
              const DerivedRecording& recording, const ValidationEngine& engine,
              CaseValidation& result) {
  const RequestTrace trace = carried_out(*recorded.plan, engine);
  const PhasedReplay replayed =
      replay_with_phases(trace, replay_options(recorded, files.description));
  compare_steps(recorded, replayed.peaks, result);
  compare_outside(recorded, result);
  compare_with_forms(*recorded.plan, result);
  result.sequence = compare_requests(compared_trace(recording, &recorded), compared_trace(trace));
}

void validate(const CaseFiles& files, const ValidationEngine& engine, CaseValidation& result) {
  const RecordedCase recorded = load_case(files.description);
  result.id = recorded.id + engine_suffix(engine);
  result.status = recorded.status;
  result.recorded_oom = recorded.status == CaseStatus::out_of_memory;
  result.recorded_oom_step = recorded.oom_step;
  result.unsupported_reason = recorded.unsupported_reason;
  const auto recording = load_recording(files.recording, StackMode::skip);
  const FidelityReplay replay = replay_as_recorded(*recording->device, recording->derived,
                                                   recording->settings, *recording->version);
  result.fidelity = replay.fidelity;
  result.peak_reserved_replayed = replay.result.peak.reserved;
  if (recorded.plan) {
    simulate(files, recorded, *recording, engine, result);
  }
}

/// `error` of a step: absent where there is none to tell.
template <class Error>
double worst_of(const CaseValidation& validation, Error error) {
  double worst = 0;
  for (const StepValidation& step : validation.steps) {
    const double of_step = error(step).value_or(0);
    worst = std::abs(of_step) > std::abs(worst) ? of_step : worst;
  }
  return worst;
}

template <class Error>
ErrorSummary summarise(const std::vector<CaseValidation>& cases, Error error) {
  std::vector<double> errors;
  for (const CaseValidation& validation : cases) {
    for (const StepValidation& step : validation.steps) {
      if (const auto of_step = error(step)) {
        errors.push_back(*of_step);
      }
    }
  }
  return summarise_errors(std::move(errors));
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

std::optional<double> outside_error(const StepValidation& step) {
  if (!step.outside || step.outside->recorded == Bytes{}) {
    return std::nullopt;
  }
  return relative_error(static_cast<double>(step.outside->simulated.count()),
                        step.outside->recorded);
}

double worst_error(const CaseValidation& validation, UsageFigure figure) {
  return worst_of(validation, [&](const StepValidation& step) { return error_of(step, figure); });
}

double worst_outside_error(const CaseValidation& validation) {
  return worst_of(validation, outside_error);
}

ErrorSummary summarise_errors(const std::vector<CaseValidation>& cases, UsageFigure figure) {
  return summarise(cases, [&](const StepValidation& step) { return error_of(step, figure); });
}

ErrorSummary summarise_outside_errors(const std::vector<CaseValidation>& cases) {
  return summarise(cases, outside_error);
}

std::vector<CaseValidation> cases_of(const std::vector<CaseValidation>& cases, CaseHalf half) {
  std::vector<CaseValidation> chosen;
  std::ranges::copy_if(cases, std::back_inserter(chosen),
                       [&](const CaseValidation& validation) { return validation.half == half; });
  return chosen;
}

CaseValidation validate_case(const CaseFiles& files, const ValidationEngine& engine) {
  CaseValidation result;
  result.id = file_stem(files.description) + engine_suffix(engine);
  result.path = files.description;
  try {
    validate(files, engine, result);
  } catch (const std::exception& error) {  // also what the generator cannot do yet
    result.unsupported_reason = error.what();
    result.steps.clear();
    result.estimates.clear();
  }
  return result;
}

std::vector<CaseValidation> validate_cases(const std::vector<CaseFiles>& files, Fleet& fleet,
                                           const ValidationEngine& engine) {
  std::vector<CaseValidation> results;
  const RecordedIndexes indexes(files);
  fleet.stream(
      "cases", files.size(),
      [&](PieceNumber i) {
        CaseValidation result = validate_case(files[i], engine);
        result.half = indexes.half_of(files[i]);
        return result;
      },
      [&](PieceNumber /*i*/, CaseValidation&& result) { results.push_back(std::move(result)); });
  return results;
}

}  // namespace highwater
