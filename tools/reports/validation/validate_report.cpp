#include "tools/reports/validation/validate_report.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "tools/reports/validation/recorded_estimates_report.hpp"
#include "tools/text/safe_text.hpp"

namespace highwater {
namespace {

namespace json = boost::json;

struct NamedFigure {
  std::string_view name;
  UsageFigure figure;
};

constexpr std::array<NamedFigure, 4> kFigures{{
    {"requested", &Usage::requested},
    {"allocated", &Usage::allocated},
    {"active", &Usage::active},
    {"reserved", &Usage::reserved},
}};

std::string percent(double fraction) {
  return fmt::format("{:+.2f} %", 100 * fraction);
}

/// "ok", "oom in step 3", "oom before step 0".
std::string ending(bool out_of_memory, std::optional<std::uint64_t> step) {
  if (!out_of_memory) {
    return "ok";
  }
  return step ? fmt::format("oom in step {}", *step) : "oom before step 0";
}

std::string ending(const CaseValidation& validation) {
  const std::string recorded = ending(validation.recorded_oom, validation.recorded_oom_step);
  const std::string simulated = ending(validation.simulated_oom, validation.simulated_oom_step);
  return recorded == simulated ? recorded : recorded + ", not " + simulated;
}

std::string fidelity_text(const CaseValidation& validation) {
  if (!validation.fidelity) {
    return "-";
  }
  const Fidelity& fidelity = *validation.fidelity;
  return fidelity.is_perfect() ? "all"
                               : fmt::format("{} of {}", fidelity.alloc_addresses_matched,
                                             fidelity.alloc_addresses_compared);
}

std::string requests_text(const SequenceValidation& sequence) {
  if (sequence.equal) {
    return "equal";
  }
  if (sequence.equal_from_step_1) {
    return "equal from step 1";
  }
  const std::string lines = fmt::format("-{} +{}, {}", sequence.only_recorded,
                                        sequence.only_simulated, sequence.first_difference);
  return sequence.equal_from_step_1_any_free_order ? "equal from step 1 but free order" : lines;
}

std::vector<const CaseValidation*> simulated_worst_first(const std::vector<CaseValidation>& cases) {
  std::vector<const CaseValidation*> sorted;
  for (const CaseValidation& validation : cases) {
    if (validation.is_simulated()) {
      sorted.push_back(&validation);
    }
  }
  std::ranges::stable_sort(sorted, std::ranges::greater{}, [](const CaseValidation* validation) {
    const double worst = std::max(std::abs(worst_error(*validation, &Usage::allocated)),
                                  std::abs(worst_error(*validation, &Usage::reserved)));
    return std::pair(!validation->ends_alike(), worst);
  });
  return sorted;
}

json::object usage_json(const Usage& usage) {
  json::object object;
  for (const NamedFigure& entry : kFigures) {
    object[fmt::format("{}_bytes", entry.name)] = (usage.*entry.figure).count();
  }
  return object;
}

json::value outside_json(const StepValidation& step) {
  if (!step.outside) {
    return nullptr;
  }
  const auto error = outside_error(step);
  return {{"recorded_bytes", step.outside->recorded.count()},
          {"simulated_bytes", step.outside->simulated.count()},
          {"error", error ? json::value(*error) : json::value(nullptr)}};
}

json::object step_json(const StepValidation& step) {
  json::object object{{"step", step.step}, {"recorded", usage_json(step.recorded)}};
  object["simulated"] = step.simulated ? json::value(usage_json(*step.simulated)) : nullptr;
  json::object& errors = object["error"].emplace_object();
  for (const NamedFigure& entry : kFigures) {
    const auto error = error_of(step, entry.figure);
    errors[entry.name] = error ? json::value(*error) : nullptr;
  }
  object["outside"] = outside_json(step);
  return object;
}

json::value fidelity_json(const CaseValidation& validation) {
  if (!validation.fidelity) {
    return nullptr;
  }
  const Fidelity& fidelity = *validation.fidelity;
  json::object object{{"segment_events_recorded", fidelity.segment_events_recorded},
                      {"segment_events_matched", fidelity.segment_events_matched},
                      {"alloc_addresses_compared", fidelity.alloc_addresses_compared},
                      {"alloc_addresses_matched", fidelity.alloc_addresses_matched},
                      {"final_segments_compared", fidelity.final_segments_compared},
                      {"final_segments_matched", fidelity.final_segments_matched},
                      {"initial_blocks_doubtful", fidelity.initial_blocks_doubtful},
                      {"resyncs", fidelity.resyncs},
                      {"peak_reserved_recorded_bytes", fidelity.peak_reserved_recorded.count()},
                      {"peak_reserved_replayed_bytes", validation.peak_reserved_replayed.count()},
                      {"first_divergence", nullptr}};
  if (fidelity.first_divergence) {
    object["first_divergence"] = {
        {"entry", fidelity.first_divergence->entry},
        {"description", valid_utf8(fidelity.first_divergence->description)}};
  }
  return object;
}

json::value oom_json(bool out_of_memory, std::optional<std::uint64_t> step) {
  if (!out_of_memory) {
    return nullptr;
  }
  return step ? json::value{{"step", *step}} : json::value{{"step", nullptr}};
}

json::object sequence_json(const SequenceValidation& sequence) {
  return {{"equal", sequence.equal},
          {"equal_from_step_1", sequence.equal_from_step_1},
          {"equal_from_step_1_any_free_order", sequence.equal_from_step_1_any_free_order},
          {"only_recorded", sequence.only_recorded},
          {"only_simulated", sequence.only_simulated},
          {"first_difference", valid_utf8(sequence.first_difference)}};
}

std::string_view status_word(CaseStatus status) {
  return status == CaseStatus::ok ? "ok" : status == CaseStatus::error ? "error" : "oom";
}

json::object case_json(const CaseValidation& validation) {
  json::object object{
      {"id", valid_utf8(validation.id)},
      {"path", valid_utf8(validation.path)},
      {"status", status_word(validation.status)},
      {"half", to_string(validation.half)},
      {"fidelity", fidelity_json(validation)},
      {"ends_alike", validation.ends_alike()},
      {"oom",
       {{"recorded", oom_json(validation.recorded_oom, validation.recorded_oom_step)},
        {"simulated", oom_json(validation.simulated_oom, validation.simulated_oom_step)}}},
      {"requests", sequence_json(validation.sequence)}};
  json::array& steps = object["steps"].emplace_array();
  for (const StepValidation& step : validation.steps) {
    steps.push_back(step_json(step));
  }
  object["estimates"] = recorded_estimates_json(validation);
  return object;
}

json::object unsupported_json(const CaseValidation& validation) {
  return {{"id", valid_utf8(validation.id)},
          {"path", valid_utf8(validation.path)},
          {"half", to_string(validation.half)},
          {"reason", valid_utf8(validation.unsupported_reason)},
          {"fidelity", fidelity_json(validation)}};
}

/// How many cases fulfil a condition.
template <class Condition>
std::uint64_t count_cases(const std::vector<CaseValidation>& cases, Condition condition) {
  return static_cast<std::uint64_t>(std::ranges::count_if(cases, condition));
}

std::uint64_t count_perfect(const std::vector<CaseValidation>& cases) {
  return count_cases(cases, [](const CaseValidation& validation) {
    return validation.fidelity && validation.fidelity->is_perfect();
  });
}

std::uint64_t count_mismatched_ends(const std::vector<CaseValidation>& cases) {
  return count_cases(cases, [](const CaseValidation& validation) {
    return validation.is_simulated() && !validation.ends_alike();
  });
}

std::uint64_t count_equal(const std::vector<CaseValidation>& cases) {
  return count_cases(cases, [](const CaseValidation& validation) {
    return validation.is_simulated() && validation.sequence.equal_from_step_1;
  });
}

bool has_outside(const std::vector<CaseValidation>& cases) {
  return summarise_outside_errors(cases).count > 0;
}

TextTable error_table(const std::vector<CaseValidation>& cases, std::string title) {
  TextTable table;
  table.title = std::move(title);
  table.columns = {"peak", "steps", "median", "p95", "worst", "bias"};
  table.right_aligned = {false, true, true, true, true, true};
  const auto add = [&](std::string_view name, const ErrorSummary& summary) {
    std::vector<std::string> row{std::string(name), std::to_string(summary.count)};
    std::ranges::move(error_cells(summary, 3), std::back_inserter(row));
    table.rows.push_back(std::move(row));
  };
  for (const NamedFigure& entry : kFigures) {
    add(entry.name, summarise_errors(cases, entry.figure));
  }
  if (has_outside(cases)) {
    add("outside", summarise_outside_errors(cases));
  }
  return table;
}

json::object summary_json(const std::vector<CaseValidation>& cases) {
  const std::uint64_t simulated = count_cases(cases, &CaseValidation::is_simulated);
  json::object summary{{"cases", simulated},
                       {"unsupported", cases.size() - simulated},
                       {"fidelity_perfect", count_perfect(cases)},
                       {"requests_equal_from_step_1", count_equal(cases)},
                       {"ends_otherwise", count_mismatched_ends(cases)}};
  for (const NamedFigure& entry : kFigures) {
    summary[fmt::format("peak_{}", entry.name)] = error_json(summarise_errors(cases, entry.figure));
  }
  summary["outside"] = has_outside(cases) ? json::value(error_json(summarise_outside_errors(cases)))
                                          : json::value(nullptr);
  return summary;
}

/// The halves that have cases.
json::object halves_json(const std::vector<CaseValidation>& cases) {
  json::object halves;
  for (const CaseHalf half : {CaseHalf::tuning, CaseHalf::held_out}) {
    if (const auto of_half = cases_of(cases, half); !of_half.empty()) {
      halves[to_string(half)] = summary_json(of_half);
    }
  }
  return halves;
}

/// Replayed / recorded - 1.
double replay_error(const CaseValidation& validation) {
  const Bytes recorded = validation.fidelity->peak_reserved_recorded;
  return recorded == Bytes{}
             ? 0
             : relative_error(static_cast<double>(validation.peak_reserved_replayed.count()),
                              recorded);
}

}  // namespace

TextTable case_table(const std::vector<CaseValidation>& cases) {
  TextTable table;
  table.title = "Worst error of a step: simulated / recorded - 1";
  table.columns = {"case",     "steps", "requested", "allocated", "active",
                   "reserved", "ends",  "addresses", "requests"};
  table.right_aligned = {false, true, true, true, true, true, false, true, false};
  const bool shows_outside = has_outside(cases);
  if (shows_outside) {
    table.columns.emplace_back("outside");
    table.right_aligned.push_back(true);
  }
  for (const CaseValidation* validation : simulated_worst_first(cases)) {
    std::vector<std::string> row{validation->id, std::to_string(validation->steps.size())};
    for (const NamedFigure& entry : kFigures) {
      row.push_back(percent(worst_error(*validation, entry.figure)));
    }
    row.push_back(ending(*validation));
    row.push_back(fidelity_text(*validation));
    row.push_back(requests_text(validation->sequence));
    if (shows_outside) {
      row.push_back(percent(worst_outside_error(*validation)));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

TextTable unsupported_table(const std::vector<CaseValidation>& cases) {
  TextTable table;
  table.title = "Not simulated";
  table.columns = {"case", "addresses", "reason"};
  table.right_aligned = {false, true, false};
  for (const CaseValidation& validation : cases) {
    if (!validation.is_simulated()) {
      table.rows.push_back(
          {validation.id, fidelity_text(validation), validation.unsupported_reason});
    }
  }
  return table;
}

TextTable replay_table(const std::vector<CaseValidation>& cases) {
  TextTable table;
  table.title = "Replays that decide otherwise than the recording";
  table.columns = {"case",           "addresses",     "segment events",
                   "final segments", "peak reserved", "first"};
  table.right_aligned = {false, true, true, true, true, false};
  const auto share = [](std::uint64_t matched, std::uint64_t compared) {
    return fmt::format("{} of {}", matched, compared);
  };
  for (const CaseValidation& validation : cases) {
    if (!validation.fidelity || validation.fidelity->is_perfect()) {
      continue;
    }
    const Fidelity& fidelity = *validation.fidelity;
    table.rows.push_back(
        {validation.id, share(fidelity.alloc_addresses_matched, fidelity.alloc_addresses_compared),
         share(fidelity.segment_events_matched, fidelity.segment_events_recorded),
         share(fidelity.final_segments_matched, fidelity.final_segments_compared),
         percent(replay_error(validation)),
         fidelity.first_divergence ? fidelity.first_divergence->description : "-"});
  }
  return table;
}

std::vector<TextTable> error_tables(const std::vector<CaseValidation>& cases) {
  std::vector<TextTable> tables{error_table(cases, "Errors over all steps of all cases")};
  for (const CaseHalf half : {CaseHalf::tuning, CaseHalf::held_out}) {
    const auto of_half = cases_of(cases, half);
    if (summarise_errors(of_half, &Usage::reserved).count > 0) {
      tables.push_back(error_table(of_half, fmt::format("Errors of the {} half", to_string(half))));
    }
  }
  return tables;
}

std::vector<std::string> validation_notes(const std::vector<CaseValidation>& cases) {
  const std::uint64_t simulated = count_cases(cases, &CaseValidation::is_simulated);
  return {
      fmt::format("{} cases, {} simulated, {} not", cases.size(), simulated,
                  cases.size() - simulated),
      fmt::format("{} of {} recordings replay with every address, segment event and final segment "
                  "as recorded",
                  count_perfect(cases), cases.size()),
      fmt::format("{} of {} simulations make the recorded requests in the recorded order from "
                  "step 1 on",
                  count_equal(cases), simulated),
      fmt::format("{} of {} simulations end otherwise than the recording (out of memory or not, or "
                  "in another step)",
                  count_mismatched_ends(cases), simulated),
  };
}

json::object validation_json(const std::vector<CaseValidation>& cases) {
  json::object root{{"schema", "highwater.validate/1"}};
  json::array& simulated = root["cases"].emplace_array();
  json::array unsupported;
  for (const CaseValidation& validation : cases) {
    if (validation.is_simulated()) {
      simulated.push_back(case_json(validation));
    } else {
      unsupported.push_back(unsupported_json(validation));
    }
  }
  json::object summary = summary_json(cases);
  summary["halves"] = halves_json(cases);
  summary["estimates"] = recorded_estimate_summary_json(cases);
  root["unsupported"] = std::move(unsupported);
  root["summary"] = std::move(summary);
  return root;
}

}  // namespace highwater
