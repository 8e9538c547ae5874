#include "tools/reports/validation/grid_report.hpp"

#include <algorithm>
#include <iterator>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/studies/compared_estimates.hpp"
#include "tools/studies/validation/grid_summary.hpp"
#include "tools/text/metrics.hpp"
#include "tools/text/safe_text.hpp"

namespace highwater {
namespace {

constexpr int kDecimals = 1;

std::string exact(double number) {
  return fmt::format("{}", number);
}

std::vector<std::string> form_row(const FormSummary& summary) {
  const Formula& formula = *summary.formula;
  std::vector<std::string> row{std::string(formula.name), std::string(to_string(formula.scope)),
                               std::string(simulated_peak_name(formula.scope)),
                               std::to_string(summary.error.count),
                               std::to_string(summary.refused)};
  std::ranges::move(error_cells(summary.error, kDecimals), std::back_inserter(row));
  row.push_back(summary.covered.count == 0 ? "-" : percent_text(summary.covered.bias));
  return row;
}

/// Enough to recognise a plan by; JSON has all of it.
std::string short_label(const GridPoint& point) {
  return fmt::format("{} batch={} seq={} {}", axis_word(point, "model"), axis_word(point, "batch"),
                     axis_word(point, "seq"), axis_word(point, "precision"));
}

std::vector<std::string> point_row(const GridResult& result, const GridEstimate& estimate,
                                   const std::vector<std::string>& axes) {
  const Formula& formula = *estimate.formula;
  std::vector<std::string> row;
  for (const std::string& axis : axes) {
    row.emplace_back(axis_word(result.point, axis));
  }
  const auto& same = estimate.error_of_covered;
  const auto& measured = result.point.measured;
  std::ranges::move(
      std::vector<std::string>{std::string(formula.name), std::string(to_string(formula.scope)),
                               fmt::format("{:.0f}", estimate.bytes),
                               std::string(simulated_peak_name(formula.scope)),
                               std::to_string(estimate.simulated.count()), exact(estimate.error),
                               std::to_string(estimate.covered.count()), same ? exact(*same) : "",
                               measured ? std::string(to_string(measured->figure)) : "",
                               measured ? std::to_string(measured->bytes.count()) : ""},
      std::back_inserter(row));
  return row;
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

/// Reason, how many plans have it, and the first of them.
std::vector<std::vector<std::string>> reason_rows(const LabelsByReason& labels_by_reason) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& [reason, labels] : labels_by_reason) {
    rows.push_back({reason, std::to_string(labels.size()), labels.front()});
  }
  return rows;
}

std::string plans_text(std::size_t count) {
  return fmt::format("{} plan{}", count, count == 1 ? "" : "s");
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

}  // namespace

std::string simulate_command_line(const GridPoint& point, const Formula& formula) {
  return fmt::format("highwater simulate {} --bridge {}", point.options, formula.name);
}

TextTable form_table(const GridRun& run) {
  TextTable table{
      fmt::format("Closed forms against the simulated peak of {}: estimate / simulated - 1",
                  plans_text(run.results.size())),
      {"form", "about", "against", "points", "refused", "median", "p95", "worst", "bias",
       "bias, same parts"},
      {},
      {false, false, false, true, true, true, true, true, true, true}};
  for (const FormSummary& summary : summarise_forms(run.results)) {
    if (summary.error.count > 0) {
      table.rows.push_back(form_row(summary));
    }
  }
  return table;
}

TextTable break_table(const GridRun& run) {
  TextTable table{"Where each form is furthest off: medians over the plans that share a value",
                  {"form", "where", "points", "error"},
                  {},
                  {false, false, true, true}};
  for (const FormSummary& summary : summarise_forms(run.results)) {
    const std::string name(summary.formula->name);
    for (const AxisValueError& value : summary.breaks) {
      table.rows.push_back({name, fmt::format("{}={}", value.axis, value.value),
                            std::to_string(value.points),
                            fmt::format("{:.{}f} %", 100 * value.median, kDecimals)});
    }
  }
  return table;
}

std::vector<std::string> worst_lines(const GridRun& run) {
  std::vector<std::string> lines;
  for (const FormSummary& summary : summarise_forms(run.results)) {
    if (summary.worst != nullptr) {
      lines.push_back(fmt::format("{} is {} off in: {}", summary.formula->name,
                                  percent_text(summary.worst_error),
                                  simulate_command_line(summary.worst->point, *summary.formula)));
    }
  }
  return lines;
}

TextTable measured_table(const GridRun& run) {
  TextTable table{"Against measurements: value / measured - 1",
                  {"plan", "figure", "measured", "by", "value", "off by"},
                  {},
                  {false, false, true, false, true, true}};
  for (const GridResult& result : run.results) {
    if (!result.point.measured) {
      continue;
    }
    const Measurement& measured = *result.point.measured;
    const Bytes simulated = result.simulated(measured.figure);
    table.rows.push_back({short_label(result.point), std::string(to_string(measured.figure)),
                          to_iec(measured.bytes), "simulation", to_iec(simulated),
                          percent_text(*result.error_of_simulation())});
    for (const GridEstimate& estimate : result.estimates) {
      table.rows.push_back({"", "", "", std::string(estimate.formula->name),
                            bytes_text(estimate.bytes), percent_text(*result.error_of(estimate))});
    }
  }
  return table;
}

TextTable refused_table(const GridRun& run) {
  TextTable table{
      "Do not apply", {"form", "because", "plans", "first"}, {}, {false, false, true, false}};
  for (const Formula* formula : formulas()) {
    for (std::vector<std::string>& row : reason_rows(refusals_of(*formula, run.results))) {
      row.insert(row.begin(), std::string(formula->name));
      table.rows.push_back(std::move(row));
    }
  }
  return table;
}

TextTable skipped_table(const GridRun& run) {
  LabelsByReason labels;
  for (const SkippedPoint& skipped : run.skipped) {
    for (const std::string& reason : skipped.reasons) {
      labels[reason].push_back(skipped.label);
    }
  }
  return {"Left out: " + plans_text(run.skipped.size()),
          {"because", "plans", "first"},
          reason_rows(labels),
          {false, true, false}};
}

TextTable point_table(const GridRun& run) {
  TextTable table;
  const std::vector<std::string> axes = point_axes(run);
  table.columns = axes;
  for (const char* column :
       {"form", "about", "estimate_bytes", "against", "simulated_bytes", "error", "covered_bytes",
        "error_of_covered", "measured_figure", "measured_bytes"}) {
    table.columns.emplace_back(column);
  }
  for (const GridResult& result : run.results) {
    for (const GridEstimate& estimate : result.estimates) {
      table.rows.push_back(point_row(result, estimate, axes));
    }
  }
  return table;
}

std::string grid_trust_line(const GridRun& run) {
  const std::string counts =
      fmt::format("{} simulated, {} left out", plans_text(run.results.size()), run.skipped.size());
  if (run.results.empty()) {
    return counts;
  }
  const ErrorSummary simulation = summarise_simulation(run.results);
  const std::string measured =
      simulation.count == 0
          ? "none of them was measured: errors are against the simulation, whose own error "
            "'validate --recorded' tells"
          : fmt::format(
                "{} of them measured, there the simulation is off by {:.1f} % in the median",
                simulation.count, 100 * simulation.median);
  return fmt::format(
      "{}; memory unlimited, requests as PyTorch {} and transformers {} make them; {}", counts,
      words_of(run, "torch"), words_of(run, "transformers"), measured);
}

std::string grid_text(const GridRun& run, OutputFormat format) {
  const bool is_markdown = format == OutputFormat::markdown;
  std::string text;
  for (const TextTable& table : {form_table(run), break_table(run), measured_table(run),
                                 refused_table(run), skipped_table(run)}) {
    if (!table.rows.empty()) {
      text += (is_markdown ? format_markdown(table) : format_aligned(table)) + "\n";
    }
  }
  for (const std::string& line : worst_lines(run)) {
    text += printable(line) + "\n";
  }
  return text + (run.results.empty() ? "" : "\n") + printable(grid_trust_line(run)) + "\n";
}

}  // namespace highwater
