#include "tools/reports/validation/validate_report.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iterator>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "tools/reports/replay_members.hpp"
#include "tools/reports/validation/error_columns.hpp"
#include "tools/reports/validation/recorded_estimates_report.hpp"
#include "tools/text/report.hpp"
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
  return sequence.equal_from_step_1_any_free_order ? "equal from step 1 except for the order of "
                                                     "frees"
                                                   : lines;
}

using Cases = std::vector<std::reference_wrapper<const CaseValidation>>;

Cases simulated_worst_first(const std::vector<CaseValidation>& cases) {
  Cases sorted;
  std::ranges::copy_if(cases, std::back_inserter(sorted), &CaseValidation::is_simulated);
  std::ranges::stable_sort(sorted, std::ranges::greater{}, [](const CaseValidation& validation) {
    const double worst = std::max(std::abs(worst_error(validation, &Usage::allocated)),
                                  std::abs(worst_error(validation, &Usage::reserved)));
    return std::pair(!validation.ends_alike(), worst);
  });
  return sorted;
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
  json::object object{{"step", step.step}, {"recorded", object_json(step.recorded)}};
  object["simulated"] = step.simulated ? json::value(object_json(*step.simulated)) : nullptr;
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

/// The same words in CSV.
Cell worst_error_cell(double fraction) {
  return Cell(fraction).written_as(fmt::format("{:+.2f} %", 100 * fraction));
}

Columns<CaseValidation> case_columns(bool shows_outside) {
  using enum Align;
  Columns<CaseValidation> columns{
      {"id", "case", left, &CaseValidation::id},
      {"", "steps", right, [](const CaseValidation& each) { return each.steps.size(); }}};
  for (const NamedFigure& entry : kFigures) {
    columns.push_back(
        {"", std::string(entry.name), right, [figure = entry.figure](const CaseValidation& each) {
           return worst_error_cell(worst_error(each, figure));
         }});
  }
  columns.push_back({"", "ends", left, [](const CaseValidation& each) { return ending(each); }});
  columns.push_back({"", "addresses", right, fidelity_text});
  columns.push_back({"", "requests", left,
                     [](const CaseValidation& each) { return requests_text(each.sequence); }});
  if (shows_outside) {
    columns.push_back({"", "outside", right, [](const CaseValidation& each) {
                         return worst_error_cell(worst_outside_error(each));
                       }});
  }
  return columns;
}

json::object case_json(const CaseValidation& validation) {
  json::object object = row_json(case_columns(false), validation);
  object["path"] = valid_utf8(validation.path);
  object["status"] = status_word(validation.status);
  object["half"] = to_string(validation.half);
  object["fidelity"] = fidelity_json(validation);
  object["ends_alike"] = validation.ends_alike();
  object["oom"] = {
      {"recorded", oom_json(validation.recorded_oom, validation.recorded_oom_step)},
      {"simulated", oom_json(validation.simulated_oom, validation.simulated_oom_step)}};
  object["requests"] = sequence_json(validation.sequence);
  json::array& steps = object["steps"].emplace_array();
  for (const StepValidation& step : validation.steps) {
    steps.push_back(step_json(step));
  }
  object["estimates"] = recorded_estimates_json(validation);
  return object;
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

struct PeakErrors {
  std::string_view peak;
  ErrorSummary errors;
};

/// Of the four figures, and of the memory outside the allocator where it was recorded.
std::vector<PeakErrors> peak_errors(const std::vector<CaseValidation>& cases) {
  std::vector<PeakErrors> rows;
  for (const NamedFigure& entry : kFigures) {
    rows.push_back({entry.name, summarise_errors(cases, entry.figure)});
  }
  if (has_outside(cases)) {
    rows.push_back({"outside", summarise_outside_errors(cases)});
  }
  return rows;
}

Table error_table(const std::vector<CaseValidation>& cases, std::string title) {
  Columns<PeakErrors> columns{{"", "peak", Align::left, &PeakErrors::peak}};
  const Columns<PeakErrors> errors =
      error_columns<PeakErrors>({.count = "steps", .decimals = 3}, &PeakErrors::errors);
  columns.insert(columns.end(), errors.begin(), errors.end());
  return tabulate(std::move(title), columns, peak_errors(cases));
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

std::string share_text(std::uint64_t matched, std::uint64_t compared) {
  return fmt::format("{} of {}", matched, compared);
}

Cell first_divergence_cell(const CaseValidation& each) {
  const auto& first = each.fidelity->first_divergence;
  return first ? Cell(first->description) : Cell(std::monostate());
}

/// Cases that were simulated.
Table case_table(const std::vector<CaseValidation>& cases) {
  return tabulate("Worst error of a step: simulated / recorded - 1",
                  case_columns(has_outside(cases)), simulated_worst_first(cases));
}

/// Cases that were not, and why.
Table unsupported_table(const std::vector<CaseValidation>& cases) {
  using enum Align;
  static const Columns<CaseValidation> kColumns{
      {"id", "case", left, &CaseValidation::id},
      {"path", "", left, &CaseValidation::path},
      {"half", "", left, [](const CaseValidation& each) { return to_string(each.half); }},
      {"", "addresses", right, fidelity_text},
      {"reason", "reason", left, &CaseValidation::unsupported_reason},
      {"fidelity", "", left,
       [](const CaseValidation& each) { return nested([&each] { return fidelity_json(each); }); }}};
  Cases rows;
  std::ranges::copy_if(cases, std::back_inserter(rows),
                       [](const CaseValidation& each) { return !each.is_simulated(); });
  return tabulate("Not simulated", kColumns, rows);
}

/// Median, 95th percentile, worst and bias of the four peaks, and of the memory outside the
/// allocator where the driver's figure was recorded. Where halves are marked, theirs follow apart.
std::vector<Table> error_tables(const std::vector<CaseValidation>& cases) {
  std::vector<Table> tables{error_table(cases, "Errors over all steps of all cases")};
  for (const CaseHalf half : {CaseHalf::tuning, CaseHalf::held_out}) {
    const auto of_half = cases_of(cases, half);
    if (summarise_errors(of_half, &Usage::reserved).count > 0) {
      tables.push_back(error_table(of_half, fmt::format("Errors of the {} half", to_string(half))));
    }
  }
  return tables;
}

/// What the tables add up to, and where the simulation went another way; one line each.
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
      fmt::format("{} of {} simulations end differently from the recording (out of memory or not, "
                  "or in another step)",
                  count_mismatched_ends(cases), simulated),
  };
}

json::array cases_json(const std::vector<CaseValidation>& cases) {
  json::array array;
  for (const CaseValidation& each : cases) {
    if (each.is_simulated()) {
      array.push_back(case_json(each));
    }
  }
  return array;
}

json::object whole_summary_json(const std::vector<CaseValidation>& cases) {
  json::object summary = summary_json(cases);
  summary["halves"] = halves_json(cases);
  summary["estimates"] = rows_json(recorded_estimate_table(cases));
  return summary;
}

}  // namespace

Table replay_table(const std::vector<CaseValidation>& cases) {
  using enum Align;
  using Case = CaseValidation;
  static const Columns<Case> kColumns{
      {"", "case", left, &Case::id},
      {"", "addresses", right,
       [](const Case& each) {
         return share_text(each.fidelity->alloc_addresses_matched,
                           each.fidelity->alloc_addresses_compared);
       }},
      {"", "segment events", right,
       [](const Case& each) {
         return share_text(each.fidelity->segment_events_matched,
                           each.fidelity->segment_events_recorded);
       }},
      {"", "final segments", right,
       [](const Case& each) {
         return share_text(each.fidelity->final_segments_matched,
                           each.fidelity->final_segments_compared);
       }},
      {"", "peak reserved", right,
       [](const Case& each) { return signed_percent_cell(replay_error(each), 2); }},
      {"", "first", left, first_divergence_cell}};
  Cases rows;
  std::ranges::copy_if(cases, std::back_inserter(rows), [](const Case& each) {
    return each.fidelity && !each.fidelity->is_perfect();
  });
  return tabulate("Replays that decide differently from the recording", kColumns, rows);
}

std::string validation_report(const std::vector<CaseValidation>& cases, OutputFormat format) {
  Report report(format, "highwater.validate/1");
  report.table(case_table(cases));
  report.table(replay_table(cases));
  report.table(unsupported_table(cases));
  for (const Table& table : error_tables(cases)) {
    report.table(table);
  }
  report.table(recorded_estimate_table(cases));
  for (const std::string& note : validation_notes(cases)) {
    report.line(note);
  }
  report.csv([&] { return case_table(cases); });
  report.json("cases", [&] { return cases_json(cases); });
  report.json("unsupported", [&] { return rows_json(unsupported_table(cases)); });
  report.json("summary", [&] { return whole_summary_json(cases); });
  return report.str();
}

}  // namespace highwater
