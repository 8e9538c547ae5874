#include "tools/reports/estimates/estimate_report.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/reports/estimates/estimate_members.hpp"
#include "tools/text/plural.hpp"
#include "tools/text/report.hpp"
#include "tools/text/safe_text.hpp"
#include "workloads/estimates/terms/estimate_inputs.hpp"
#include "workloads/plan/options/plan_json.hpp"
#include "workloads/plan/options/plan_summary.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

namespace json = boost::json;

/// As DeepSpeed prints sizes: units of 2^30 bytes that it calls GB.
std::string deepspeed_gb(double bytes) {
  constexpr double kGib = 1024.0 * 1024.0 * 1024.0;
  return fmt::format("{:.2f}GB", bytes / kGib);
}

std::vector<FormulaOutcome> applicable(const std::vector<FormulaOutcome>& outcomes) {
  std::vector<FormulaOutcome> some;
  std::ranges::copy_if(outcomes, std::back_inserter(some), &FormulaOutcome::applies);
  return some;
}

Table overview_table(const EstimateReport& report) {
  using enum Align;
  using Outcome = FormulaOutcome;
  static const Columns<Outcome> kColumns{
      {"", "form", left, [](const Outcome& outcome) { return outcome.formula->name; }},
      {"", "about", left, [](const Outcome& outcome) { return to_string(outcome.formula->scope); }},
      {"", "estimate", right,
       [](const Outcome& outcome) { return bytes_text(outcome.estimate.bytes()); }},
      {"", "assumptions broken", right,
       [](const Outcome& outcome) { return outcome.broken.size(); }}};
  return tabulate("Closed forms, per GPU", kColumns, applicable(report.outcomes));
}

Table refusal_table(const std::vector<FormulaOutcome>& outcomes) {
  using enum Align;
  static const Columns<Refusal> kColumns{{"", "form", left, &Refusal::name},
                                         {"", "because", left, &Refusal::reason}};
  return tabulate("Not applicable", kColumns, refusals_of(outcomes));
}

/// A term of a form, or its total.
struct TermRow {
  std::string_view form;
  std::string name;
  std::string equation;
  double bytes = 0;
  std::int64_t whole_bytes = 0;  ///< so that the terms add up to the total
  PartSet covers;
};

const Columns<TermRow>& term_columns() {
  using enum Align;
  static const Columns<TermRow> kColumns{
      {"", "form", left, &TermRow::form},
      {"", "term", left, &TermRow::name},
      {"", "equation", left, &TermRow::equation},
      {"", "memory", right, [](const TermRow& row) { return bytes_text(row.bytes); }},
      {"", "bytes", right, &TermRow::whole_bytes}};
  return kColumns;
}

std::vector<TermRow> term_rows(const FormulaOutcome& outcome) {
  std::vector<TermRow> rows;
  const std::vector<std::int64_t> bytes = whole_bytes(outcome.estimate);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const EstimateTerm& term = outcome.estimate.terms[i];
    rows.push_back(
        {outcome.formula->name, term.name, term.equation, term.bytes, bytes[i], term.covers});
  }
  return rows;
}

std::vector<TermRow> rows_with_total(const FormulaOutcome& outcome) {
  std::vector<TermRow> rows = term_rows(outcome);
  const double total = outcome.estimate.bytes();
  rows.push_back(
      {outcome.formula->name, "total", "sum of the terms", total, std::llround(total), {}});
  return rows;
}

Table term_table(const FormulaOutcome& outcome) {
  return tabulate(fmt::format("{}: {}", outcome.formula->name, outcome.formula->title),
                  pick(term_columns(), {"term", "equation", "memory", "bytes"}),
                  rows_with_total(outcome));
}

const Columns<FormulaVariant>& variant_columns() {
  using enum Align;
  const auto gigabytes = [](double FormulaVariant::*member) {
    return [member](const FormulaVariant& row) { return deepspeed_gb(row.*member); };
  };
  static const Columns<FormulaVariant> kColumns{
      {"", "options", left, &FormulaVariant::label},
      {"", "per GPU", right, gigabytes(&FormulaVariant::gpu_bytes)},
      {"", "per CPU", right, gigabytes(&FormulaVariant::host_bytes)},
      {"", "pinned, of CPU", right, [](const FormulaVariant& row) {
         return row.pinned_bytes > 0 ? deepspeed_gb(row.pinned_bytes) : "";
       }}};
  return kColumns;
}

bool any_above_0(const std::vector<FormulaVariant>& variants, double FormulaVariant::*member) {
  return std::ranges::any_of(variants, [&](const FormulaVariant& row) { return row.*member > 0; });
}

/// DeepSpeed's own table, in its columns and its unit; what is pinned comes last.
Table host_variant_table(const FormulaOutcome& outcome, const EstimateInputs& inputs) {
  std::vector<std::string_view> shown{"per CPU", "per GPU", "options"};
  if (any_above_0(outcome.variants, &FormulaVariant::pinned_bytes)) {
    shown.emplace_back("pinned, of CPU");
  }
  return tabulate(
      fmt::format("{} on {} of {}: {}M parameters, {}M in the largest layer (GB are 2^30 bytes, as "
                  "the source prints them)",
                  outcome.formula->name, plural(inputs.nodes, "node"),
                  plural(inputs.gpus_per_node, "GPU"), inputs.parameters() / 1'000'000,
                  inputs.largest_layer / 1'000'000),
      pick(variant_columns(), shown), outcome.variants);
}

Table variant_table(const FormulaOutcome& outcome, const EstimateInputs& inputs) {
  using enum Align;
  static const Columns<FormulaVariant> kColumns{
      {"", "case", left, &FormulaVariant::label},
      {"", "per GPU", right, [](const FormulaVariant& row) { return bytes_text(row.gpu_bytes); }}};
  if (any_above_0(outcome.variants, &FormulaVariant::host_bytes)) {
    return host_variant_table(outcome, inputs);
  }
  return tabulate(fmt::format("{}, other cases of the same job", outcome.formula->name), kColumns,
                  outcome.variants);
}

Table source_table(const Formula& formula) {
  using Line = std::pair<std::string_view, std::string_view>;
  static const Columns<Line> kColumns{{"", "", Align::left, &Line::first},
                                      {"", "", Align::left, &Line::second}};
  return tabulate(fmt::format("{}: source", formula.name), kColumns,
                  std::vector<Line>{{"equation", formula.equation},
                                    {"source", formula.source},
                                    {"assumptions", formula.assumptions},
                                    {"known errors", formula.known_errors}});
}

void add_details(const FormulaOutcome& outcome, const EstimateReport& estimate, Report& report) {
  if (outcome.applies()) {
    report.table(variant_table(outcome, estimate.inputs));
    report.table(term_table(outcome));
  }
}

void add_tables(const EstimateReport& estimate, Report& report) {
  if (!estimate.has_details) {
    report.table(overview_table(estimate));
  }
  for (const FormulaOutcome& outcome : estimate.outcomes) {
    if (estimate.has_details) {
      add_details(outcome, estimate, report);
    }
    if (estimate.has_sources) {
      report.table(source_table(*outcome.formula));
    }
  }
  report.table(refusal_table(estimate.outcomes));
}

std::string broken_assumptions(const EstimateReport& estimate) {
  std::string text;
  for (const FormulaOutcome& outcome : estimate.outcomes) {
    if (!outcome.broken.empty()) {
      text += fmt::format("{}: {}\n", outcome.formula->name, fmt::join(outcome.broken, "; "));
    }
  }
  return text;
}

/// For CSV: the terms of every form that applies.
Table all_terms(const EstimateReport& estimate) {
  std::vector<TermRow> rows;
  for (const FormulaOutcome& outcome : estimate.outcomes) {
    if (outcome.applies()) {
      const std::vector<TermRow> more = rows_with_total(outcome);
      rows.insert(rows.end(), more.begin(), more.end());
    }
  }
  return tabulate("", pick(term_columns(), {"form", "term", "equation", "bytes"}), rows);
}

void add_json(const EstimateReport& estimate, Report& report) {
  const EstimateInputs& inputs = estimate.inputs;
  report.json("plan", [&] { return plan_json(inputs.plan); });
  report.json("model", [&]() -> json::value {
    return {{"name", valid_utf8(inputs.plan.model.name)},
            {"parameters", inputs.parameters()},
            {"largest_layer_parameters", inputs.largest_layer}};
  });
  report.json("job", [&]() -> json::value {
    return {
        {"gpus_per_node", inputs.gpus_per_node}, {"nodes", inputs.nodes}, {"gpus", inputs.gpus()}};
  });
  report.json("notes", [&] { return words_json(estimate.notes); });
  report.json("estimates", [&] { return value_json(applicable(estimate.outcomes)); });
  report.json("not_applicable", [&] { return value_json(refusals_of(estimate.outcomes)); });
}

std::vector<std::string_view> part_names(PartSet parts) {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < kMemoryPartCount; ++i) {
    if (parts.contains(static_cast<MemoryPart>(i))) {
      names.push_back(to_string(static_cast<MemoryPart>(i)));
    }
  }
  return names;
}

}  // namespace

std::vector<TermLine> term_lines(const FormulaOutcome& outcome) {
  std::vector<TermLine> lines;
  for (const TermRow& row : term_rows(outcome)) {
    lines.push_back({row.name, row.equation, row.whole_bytes, part_names(row.covers)});
  }
  return lines;
}

std::vector<Refusal> refusals_of(const std::vector<FormulaOutcome>& outcomes) {
  std::vector<Refusal> refusals;
  for (const FormulaOutcome& outcome : outcomes) {
    if (!outcome.applies()) {
      refusals.push_back({outcome.formula->name, outcome.refusal});
    }
  }
  return refusals;
}

std::string estimate_report(const EstimateReport& estimate, OutputFormat format) {
  Report report(format, "highwater.estimate/1");
  report.line(plan_summary(estimate.inputs.plan));
  report.line("");
  add_tables(estimate, report);
  report.text(broken_assumptions(estimate));
  for (const std::string& note : estimate.notes) {
    report.line("note: " + note);
  }
  report.line(
      "closed forms only, nothing was simulated; 'highwater simulate' compares them with the "
      "simulated peak");
  report.csv([&] { return all_terms(estimate); });
  add_json(estimate, report);
  return report.str();
}

}  // namespace highwater
