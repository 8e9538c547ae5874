#include "tools/estimate_report.hpp"

#include <algorithm>
#include <cmath>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/plan_words.hpp"
#include "tools/safe_text.hpp"

namespace highwater {
namespace {

namespace json = boost::json;

std::string iec(double bytes) {
  return to_iec(Bytes{static_cast<std::uint64_t>(std::llround(std::max(0.0, bytes)))});
}

/// As DeepSpeed prints sizes: units of 2^30 bytes that it calls GB.
std::string deepspeed_gb(double bytes) {
  constexpr double kGib = 1024.0 * 1024.0 * 1024.0;
  return fmt::format("{:.2f}GB", bytes / kGib);
}

TextTable overview_table(const EstimateReport& report) {
  TextTable table{"Closed forms, per GPU",
                  {"form", "about", "estimate", "assumptions broken"},
                  {},
                  {false, false, true, true}};
  for (const FormulaOutcome& outcome : report.outcomes) {
    if (outcome.applies()) {
      table.rows.push_back({std::string(outcome.formula->name),
                            std::string(to_string(outcome.formula->scope)),
                            iec(outcome.estimate.bytes()), std::to_string(outcome.broken.size())});
    }
  }
  return table;
}

TextTable refusal_table(const std::vector<FormulaOutcome>& outcomes) {
  TextTable table{"Do not apply", {"form", "because"}, {}, {false, false}};
  for (const FormulaOutcome& outcome : outcomes) {
    if (!outcome.applies()) {
      table.rows.push_back({std::string(outcome.formula->name), outcome.refusal});
    }
  }
  return table;
}

TextTable term_table(const FormulaOutcome& outcome) {
  TextTable table{fmt::format("{}: {}", outcome.formula->name, outcome.formula->title),
                  {"term", "equation", "memory", "bytes"},
                  {},
                  {false, false, true, true}};
  const std::vector<std::int64_t> bytes = whole_bytes(outcome.estimate);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const EstimateTerm& term = outcome.estimate.terms[i];
    table.rows.push_back({term.name, term.equation, iec(term.bytes), std::to_string(bytes[i])});
  }
  table.rows.push_back({"total", "sum of the terms", iec(outcome.estimate.bytes()),
                        fmt::format("{:.0f}", outcome.estimate.bytes())});
  return table;
}

/// The source's own table: what it says of the host comes first, as DeepSpeed prints it.
TextTable variant_table(const FormulaOutcome& outcome, const EstimateInputs& inputs) {
  const auto has = [&](double FormulaVariant::*figure) {
    return std::ranges::any_of(outcome.variants,
                               [figure](const FormulaVariant& row) { return row.*figure > 0; });
  };
  const bool has_host = has(&FormulaVariant::host_bytes);
  const bool has_pinned = has(&FormulaVariant::pinned_bytes);
  TextTable table;
  table.title = fmt::format(
      "{}, all that it tabulates on {} node{} of {} GPU{}: {}M parameters, {}M in the largest "
      "layer "
      "(GB: 2^30 bytes)",
      outcome.formula->name, inputs.nodes, inputs.nodes == 1 ? "" : "s", inputs.gpus_per_node,
      inputs.gpus_per_node == 1 ? "" : "s", inputs.parameters() / 1'000'000,
      largest_module_parameters(inputs.tensors) / 1'000'000);
  const auto add_column = [&](const char* name, bool is_right) {
    table.columns.emplace_back(name);
    table.right_aligned.push_back(is_right);
  };
  if (has_host) {
    add_column("per CPU", true);
  }
  add_column("per GPU", true);
  add_column("options", false);
  if (has_pinned) {
    add_column("pinned, of CPU", true);
  }
  for (const FormulaVariant& variant : outcome.variants) {
    std::vector<std::string>& row = table.rows.emplace_back();
    if (has_host) {
      row.push_back(deepspeed_gb(variant.host_bytes));
    }
    row.push_back(deepspeed_gb(variant.gpu_bytes));
    row.push_back(variant.label);
    if (has_pinned) {
      row.push_back(variant.pinned_bytes > 0 ? deepspeed_gb(variant.pinned_bytes) : "");
    }
  }
  return table;
}

TextTable source_table(const Formula& formula) {
  TextTable table{fmt::format("{}: where it is from", formula.name), {"", ""}, {}, {false, false}};
  table.rows = {{"equation", std::string(formula.equation)},
                {"source", std::string(formula.source)},
                {"assumptions", std::string(formula.assumptions)},
                {"known errors", std::string(formula.known_errors)}};
  return table;
}

void add_details(const FormulaOutcome& outcome, const EstimateReport& report,
                 std::vector<TextTable>& tables) {
  if (outcome.applies() && !outcome.variants.empty()) {
    tables.push_back(variant_table(outcome, report.inputs));
  }
  if (outcome.applies()) {
    tables.push_back(term_table(outcome));
  }
}

std::vector<TextTable> tables_of(const EstimateReport& report) {
  std::vector<TextTable> tables;
  if (!report.has_details) {
    tables.push_back(overview_table(report));
  }
  for (const FormulaOutcome& outcome : report.outcomes) {
    if (report.has_details) {
      add_details(outcome, report, tables);
    }
    if (report.has_sources) {
      tables.push_back(source_table(*outcome.formula));
    }
  }
  tables.push_back(refusal_table(report.outcomes));
  return tables;
}

std::string notes(const EstimateReport& report) {
  std::string text;
  for (const FormulaOutcome& outcome : report.outcomes) {
    if (!outcome.broken.empty()) {
      text += fmt::format("{}: {}\n", outcome.formula->name, fmt::join(outcome.broken, "; "));
    }
  }
  return text;
}

json::array parts_json(PartSet parts) {
  json::array array;
  for (std::size_t i = 0; i < kMemoryPartCount; ++i) {
    if (parts.contains(static_cast<MemoryPart>(i))) {
      array.emplace_back(to_string(static_cast<MemoryPart>(i)));
    }
  }
  return array;
}

constexpr std::size_t kDetailsShown = 5;

json::object line_json(const BridgeLine& line) {
  json::object object{{"name", line.name},
                      {"terms", words_json(line.terms)},
                      {"estimated_bytes", line.estimated},
                      {"simulated_bytes", line.simulated},
                      {"difference_bytes", line.difference()}};
  json::array details;
  for (std::size_t i = 0; i < std::min(kDetailsShown, line.details.size()); ++i) {
    details.push_back({{"what", valid_utf8(line.details[i].what)},
                       {"bytes", line.details[i].bytes.count()},
                       {"blocks", line.details[i].blocks}});
  }
  object["largest"] = std::move(details);
  return object;
}

json::object bridge_json(const Bridge& bridge) {
  json::object object{{"estimated_bytes", bridge.estimated},
                      {"simulated_bytes", bridge.simulated},
                      {"difference_bytes", bridge.difference()}};
  json::array lines;
  for (const BridgeLine& line : bridge.lines) {
    lines.push_back(line_json(line));
  }
  object["lines"] = std::move(lines);
  return object;
}

/// A bar to the right of the middle for what a form lacks, to the left for what it has too much.
std::string bar(std::int64_t value, std::int64_t largest) {
  constexpr std::size_t kWidth = 20;
  if (value == 0) {
    return std::string(kWidth, ' ') + "|";
  }
  const double share = std::abs(static_cast<double>(value)) / static_cast<double>(largest);
  const auto length = std::max(
      std::size_t{1}, static_cast<std::size_t>(std::lround(share * static_cast<double>(kWidth))));
  return value < 0 ? std::string(kWidth - length, ' ') + std::string(length, '<') + "|"
                   : std::string(kWidth, ' ') + "|" + std::string(length, '>');
}

std::string magnitude(std::int64_t bytes) {
  return to_iec(Bytes{static_cast<std::uint64_t>(std::max<std::int64_t>(0, bytes))});
}

/// The largest holders below a line that the form does not meet.
void add_details(const BridgeLine& line, TextTable& table) {
  if (line.difference() == 0) {
    return;
  }
  constexpr std::size_t kShown = 3;
  for (std::size_t i = 0; i < std::min(kShown, line.details.size()); ++i) {
    const PartDetail& detail = line.details[i];
    table.rows.push_back({"    " + detail.what, "", "", to_iec(detail.bytes), ""});
  }
  if (line.details.size() > kShown) {
    Bytes rest;
    for (std::size_t i = kShown; i < line.details.size(); ++i) {
      rest += line.details[i].bytes;
    }
    table.rows.push_back(
        {fmt::format("    {} others", line.details.size() - kShown), "", "", to_iec(rest), ""});
  }
}

}  // namespace

std::string percent_text(double fraction) {
  constexpr double kMost = 9.999;
  return fraction > kMost ? "> +999 %" : fmt::format("{:+.1f} %", 100 * fraction);
}

json::array words_json(const std::vector<std::string>& words) {
  json::array array;
  for (const std::string& word : words) {
    array.emplace_back(valid_utf8(word));
  }
  return array;
}

std::string estimate_text(const EstimateReport& report, OutputFormat format) {
  const bool is_markdown = format == OutputFormat::markdown;
  std::string text = printable(plan_summary(report.inputs.plan)) + "\n\n";
  for (const TextTable& table : tables_of(report)) {
    if (!table.rows.empty()) {
      text += (is_markdown ? format_markdown(table) : format_aligned(table)) + "\n";
    }
  }
  text += notes(report);
  return text +
         "closed forms alone, nothing was simulated; 'highwater simulate' sets them beside the "
         "simulated peak\n";
}

json::object outcome_json(const FormulaOutcome& outcome) {
  const Formula& formula = *outcome.formula;
  json::object object{{"name", formula.name},
                      {"title", formula.title},
                      {"about", to_string(formula.scope)},
                      {"bytes", std::llround(outcome.estimate.bytes())},
                      {"equation", formula.equation},
                      {"source", formula.source},
                      {"assumptions", formula.assumptions},
                      {"known_errors", formula.known_errors},
                      {"broken_assumptions", words_json(outcome.broken)}};
  json::array terms;
  const std::vector<std::int64_t> bytes = whole_bytes(outcome.estimate);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const EstimateTerm& term = outcome.estimate.terms[i];
    terms.push_back({{"name", term.name},
                     {"equation", term.equation},
                     {"bytes", bytes[i]},
                     {"covers", parts_json(term.covers)}});
  }
  object["terms"] = std::move(terms);
  json::array variants;
  for (const FormulaVariant& variant : outcome.variants) {
    variants.push_back({{"options", variant.label},
                        {"gpu_bytes", std::llround(variant.gpu_bytes)},
                        {"host_bytes", std::llround(variant.host_bytes)},
                        {"pinned_bytes", std::llround(variant.pinned_bytes)}});
  }
  object["variants"] = std::move(variants);
  return object;
}

json::array refusals_json(const std::vector<FormulaOutcome>& outcomes) {
  json::array array;
  for (const FormulaOutcome& outcome : outcomes) {
    if (!outcome.applies()) {
      array.push_back({{"name", outcome.formula->name}, {"reason", outcome.refusal}});
    }
  }
  return array;
}

json::object estimate_json(const EstimateReport& report) {
  const EstimateInputs& inputs = report.inputs;
  json::object root{{"schema", "highwater.estimate/1"}};
  root["plan"] = plan_json(inputs.plan);
  root["model"] = {{"name", valid_utf8(inputs.plan.model.name)},
                   {"parameters", inputs.parameters()},
                   {"largest_layer_parameters", largest_module_parameters(inputs.tensors)}};
  root["job"] = {
      {"gpus_per_node", inputs.gpus_per_node}, {"nodes", inputs.nodes}, {"gpus", inputs.gpus()}};
  json::array estimates;
  for (const FormulaOutcome& outcome : report.outcomes) {
    if (outcome.applies()) {
      estimates.push_back(outcome_json(outcome));
    }
  }
  root["estimates"] = std::move(estimates);
  root["not_applicable"] = refusals_json(report.outcomes);
  return root;
}

TextTable estimate_table(const EstimateReport& report) {
  TextTable table;
  table.columns = {"form", "term", "equation", "bytes"};
  for (const FormulaOutcome& outcome : report.outcomes) {
    const std::vector<std::int64_t> bytes = whole_bytes(outcome.estimate);
    const std::string name(outcome.formula->name);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const EstimateTerm& term = outcome.estimate.terms[i];
      table.rows.push_back({name, term.name, term.equation, std::to_string(bytes[i])});
    }
    if (outcome.applies()) {
      table.rows.push_back(
          {name, "total", "sum of the terms", fmt::format("{:.0f}", outcome.estimate.bytes())});
    }
  }
  return table;
}

TextTable comparison_table(const EstimateComparison& comparison) {
  TextTable table{
      "Closed forms beside the simulation",
      {"form", "about", "estimate", "same parts simulated", "off by", "simulated peak", "off by"},
      {},
      {false, false, true, true, true, true, true}};
  for (const ComparedEstimate& compared : comparison.compared) {
    const Formula& formula = *compared.outcome.formula;
    const auto same = compared.error_of_covered();
    table.rows.push_back(
        {std::string(formula.name), std::string(to_string(formula.scope)), iec(compared.bytes()),
         to_iec(compared.covered), same ? percent_text(*same) : "-",
         fmt::format("{} {}", to_iec(compared.peak), simulated_peak_name(formula.scope)),
         percent_text(compared.error())});
  }
  return table;
}

TextTable bridge_table(const ComparedEstimate& compared) {
  const Bridge& bridge = compared.bridge;
  TextTable table{
      fmt::format("From {} to the simulated process, part by part", compared.outcome.formula->name),
      {"part", "estimated", "to add", "simulated", ""},
      {},
      {false, true, true, true, false}};
  std::int64_t largest = 0;
  for (const BridgeLine& line : bridge.lines) {
    largest = std::max(largest, std::abs(line.difference()));
  }
  for (const BridgeLine& line : bridge.lines) {
    table.rows.push_back({line.name, line.terms.empty() ? "-" : magnitude(line.estimated),
                          to_iec_signed(line.difference()), magnitude(line.simulated),
                          bar(line.difference(), largest)});
    add_details(line, table);
  }
  table.rows.push_back({"total", magnitude(bridge.estimated), to_iec_signed(bridge.difference()),
                        magnitude(bridge.simulated), ""});
  return table;
}

json::array comparison_json(const EstimateComparison& comparison) {
  json::array array;
  for (const ComparedEstimate& compared : comparison.compared) {
    json::object object = outcome_json(compared.outcome);
    object["compared_with"] = simulated_peak_name(compared.outcome.formula->scope);
    object["simulated_bytes"] = compared.peak.count();
    object["difference_bytes"] =
        std::llround(compared.bytes()) - static_cast<std::int64_t>(compared.peak.count());
    object["error_vs_simulated"] = compared.error();
    object["covered_bytes"] = compared.covered.count();
    const auto same = compared.error_of_covered();
    object["error_vs_covered"] = same ? json::value(*same) : json::value(nullptr);
    object["bridge"] = bridge_json(compared.bridge);
    array.push_back(std::move(object));
  }
  return array;
}

}  // namespace highwater
