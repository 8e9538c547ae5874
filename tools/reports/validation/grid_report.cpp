#include "tools/reports/validation/grid_report.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/reports/validation/grid_columns.hpp"
#include "tools/studies/validation/grid_summary.hpp"
#include "tools/text/plural.hpp"

namespace highwater {
namespace {

/// Enough to recognise a plan by; JSON has all of it.
std::string short_label(const GridPoint& point) {
  return fmt::format("{} batch={} seq={} {}", axis_word(point, "model"), axis_word(point, "batch"),
                     axis_word(point, "seq"), axis_word(point, "precision"));
}

using LabelsByReason = std::map<std::string, std::vector<std::string>>;

LabelsByReason refusals_of(const Formula& formula, const std::vector<GridResult>& results) {
  LabelsByReason labels;
  for (const GridResult& result : results) {
    const auto refusal = std::ranges::find(result.refused, &formula, &GridRefusal::formula);
    if (refusal != result.refused.end()) {
      labels[refusal->reason].push_back(result.point.label);
    }
  }
  return labels;
}

/// A reason, how many plans have it, and the first of them.
struct ReasonRow {
  const Formula* formula = nullptr;  ///< that says nothing; absent: the plan is not simulated
  std::string reason;
  std::size_t plans = 0;
  std::string first;
};

void add_reasons(const LabelsByReason& labels_by_reason, const Formula* formula,
                 std::vector<ReasonRow>& rows) {
  for (const auto& [reason, labels] : labels_by_reason) {
    rows.push_back({formula, reason, labels.size(), labels.front()});
  }
}

const Columns<ReasonRow>& reason_columns() {
  using enum Align;
  static const Columns<ReasonRow> kColumns{{"", "because", left, &ReasonRow::reason},
                                           {"", "plans", right, &ReasonRow::plans},
                                           {"", "first", left, &ReasonRow::first}};
  return kColumns;
}

/// The axes that tell the points apart; always the model.
std::vector<std::string> point_axes(const GridRun& run) {
  std::vector<std::string> axes = varying_axes(run.results);
  if (std::ranges::find(axes, "model") == axes.end()) {
    axes.insert(axes.begin(), "model");
  }
  return axes;
}

/// The different words of an axis over all points: "2.6" or "2.6, 2.7".
std::string words_of(const GridRun& run, std::string_view axis) {
  std::vector<std::string_view> words;
  for (const GridResult& result : run.results) {
    const std::string_view word = axis_word(result.point, axis);
    if (std::ranges::find(words, word) == words.end()) {
      words.push_back(word);
    }
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

/// One row per form that applies to a plan.
Table form_table(const GridRun& run, std::vector<FormSummary> forms) {
  std::erase_if(forms, [](const FormSummary& form) { return form.error.count == 0; });
  return tabulate(
      fmt::format("Closed forms against the simulated peak of {}: estimate / simulated - 1",
                  plural(run.results.size(), "plan")),
      form_columns(), forms);
}

/// Per form, the values of the axes on which it is furthest off.
Table break_table(const std::vector<FormSummary>& forms) {
  std::vector<BreakRow> rows;
  for (const FormSummary& form : forms) {
    const std::vector<BreakRow> more = break_rows(form);
    rows.insert(rows.end(), more.begin(), more.end());
  }
  return tabulate("Where each form is least accurate: medians over the plans that share a value",
                  break_columns(), rows);
}

std::vector<std::string> worst_lines(const std::vector<FormSummary>& forms) {
  std::vector<std::string> lines;
  for (const FormSummary& form : forms) {
    if (form.worst != nullptr) {
      lines.push_back(fmt::format("{} is off by {} in: {}", form.formula->name,
                                  percent_text(form.worst_error),
                                  simulate_command_line(form.worst->point, *form.formula)));
    }
  }
  return lines;
}

/// What stands against a measurement: the simulation, then each form.
struct MeasuredRow {
  const GridResult* result = nullptr;
  const GridEstimate* estimate = nullptr;  ///< absent: the simulation

  [[nodiscard]] const Measurement& measured() const { return *result->point.measured; }
};

/// What the rows of a point share, said once.
template <class Value>
auto once(Value value) {
  return [value](const MeasuredRow& row) {
    return row.estimate == nullptr ? Cell(value(row)) : Cell();
  };
}

Cell value_cell(const MeasuredRow& row) {
  return row.estimate == nullptr ? Cell(row.result->simulated(row.measured().figure))
                                 : Cell(bytes_text(row.estimate->bytes));
}

Cell off_by_cell(const MeasuredRow& row) {
  return percent_text(row.estimate == nullptr ? *row.result->error_of_simulation()
                                              : *row.result->error_of(*row.estimate));
}

const Columns<MeasuredRow>& measured_columns() {
  using enum Align;
  static const Columns<MeasuredRow> kColumns{
      {"", "plan", left,
       once([](const MeasuredRow& row) { return short_label(row.result->point); })},
      {"", "figure", left,
       once([](const MeasuredRow& row) { return to_string(row.measured().figure); })},
      {"", "measured", right, once([](const MeasuredRow& row) { return row.measured().bytes; })},
      {"", "by", left,
       [](const MeasuredRow& row) {
         return row.estimate == nullptr ? "simulation" : row.estimate->formula->name;
       }},
      {"", "value", right, value_cell},
      {"", "off by", right, off_by_cell}};
  return kColumns;
}

Table measured_table(const GridRun& run) {
  std::vector<MeasuredRow> rows;
  for (const GridResult& result : run.results) {
    if (!result.point.measured) {
      continue;
    }
    rows.push_back({&result, nullptr});
    for (const GridEstimate& estimate : result.estimates) {
      rows.push_back({&result, &estimate});
    }
  }
  return tabulate("Against measurements: value / measured - 1", measured_columns(), rows);
}

/// Why forms say nothing about some of the plans, counted by form and reason.
Table refused_table(const GridRun& run) {
  std::vector<ReasonRow> rows;
  for (const Formula* formula : formulas()) {
    add_reasons(refusals_of(*formula, run.results), formula, rows);
  }
  Columns<ReasonRow> columns = reason_columns();
  columns.insert(columns.begin(),
                 {"", "form", Align::left, [](const ReasonRow& row) { return row.formula->name; }});
  return tabulate("Not applicable", columns, rows);
}

/// Combinations that were left out, counted by reason.
Table skipped_table(const GridRun& run) {
  LabelsByReason labels;
  for (const SkippedPoint& skipped : run.skipped) {
    for (const std::string& reason : skipped.reasons) {
      labels[reason].push_back(skipped.label);
    }
  }
  std::vector<ReasonRow> rows;
  add_reasons(labels, nullptr, rows);
  return tabulate("Skipped: " + plural(run.skipped.size(), "plan"), reason_columns(), rows);
}

/// One row per point and form, the axes that differ first.
Table point_table(const GridRun& run) {
  Columns<PointRow> columns;
  for (const std::string& axis : point_axes(run)) {
    columns.push_back({"", axis, Align::left,
                       [axis](const PointRow& row) { return axis_word(row.result->point, axis); }});
  }
  columns.insert(columns.end(), point_columns().begin(), point_columns().end());
  std::vector<PointRow> rows;
  for (const GridResult& result : run.results) {
    const std::vector<PointRow> more = point_rows(result);
    rows.insert(rows.end(), more.begin(), more.end());
  }
  return tabulate("", columns, rows);
}

}  // namespace

std::string simulate_command_line(const GridPoint& point, const Formula& formula) {
  return fmt::format("highwater simulate {} --bridge {}", point.options, formula.name);
}

std::string grid_trust_line(const GridRun& run) {
  const std::string counts = fmt::format("{} simulated, {} skipped",
                                         plural(run.results.size(), "plan"), run.skipped.size());
  if (run.results.empty()) {
    return counts;
  }
  const ErrorSummary simulation = summarise_simulation(run.results);
  const std::string measured =
      simulation.count == 0
          ? "none was measured: errors are relative to the simulation, whose own error is "
            "reported by 'validate --recorded'"
          : fmt::format(
                "{} of them measured; there the simulation is off by {:.1f} % in the median",
                simulation.count, 100 * simulation.median);
  return fmt::format(
      "{}; memory unlimited, requests as issued by PyTorch {} and transformers {}; {}", counts,
      words_of(run, "torch"), words_of(run, "transformers"), measured);
}

std::string grid_report(const GridRun& run, OutputFormat format) {
  const std::vector<FormSummary> forms = summarise_forms(run.results);
  Report report(format, "highwater.validate/1");
  report.table(form_table(run, forms));
  report.table(break_table(forms));
  report.table(measured_table(run));
  report.table(refused_table(run));
  report.table(skipped_table(run));
  for (const std::string& line : worst_lines(forms)) {
    report.line(line);
  }
  report.text(run.results.empty() ? "" : "\n");
  report.line(grid_trust_line(run));
  report.csv([&] { return point_table(run); });
  add_grid_json(run, forms, report);
  return report.str();
}

}  // namespace highwater
