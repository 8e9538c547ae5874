#include "tools/reports/estimate_report.hpp"

#include <algorithm>
#include <cmath>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/text/safe_text.hpp"
#include "workloads/plan/options/plan_json.hpp"
#include "workloads/plan/options/plan_summary.hpp"

namespace highwater {
namespace {

namespace json = boost::json;

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
      table.rows.push_back(
          {std::string(outcome.formula->name), std::string(to_string(outcome.formula->scope)),
           bytes_text(outcome.estimate.bytes()), std::to_string(outcome.broken.size())});
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
    table.rows.push_back(
        {term.name, term.equation, bytes_text(term.bytes), std::to_string(bytes[i])});
  }
  table.rows.push_back({"total", "sum of the terms", bytes_text(outcome.estimate.bytes()),
                        fmt::format("{:.0f}", outcome.estimate.bytes())});
  return table;
}

std::string plural(int count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

/// DeepSpeed's own table, in its columns and its unit; what is pinned comes behind.
TextTable host_variant_table(const FormulaOutcome& outcome, const EstimateInputs& inputs) {
  const bool has_pinned = std::ranges::any_of(
      outcome.variants, [](const FormulaVariant& row) { return row.pinned_bytes > 0; });
  TextTable table{
      fmt::format("{} on {} of {}: {}M parameters, {}M in the largest layer (GB are 2^30 bytes, as "
                  "the source prints them)",
                  outcome.formula->name, plural(inputs.nodes, "node"),
                  plural(inputs.gpus_per_node, "GPU"), inputs.parameters() / 1'000'000,
                  largest_module_parameters(inputs.tensors) / 1'000'000),
      {"per CPU", "per GPU", "options"},
      {},
      {true, true, false}};
  for (const FormulaVariant& variant : outcome.variants) {
    table.rows.push_back(
        {deepspeed_gb(variant.host_bytes), deepspeed_gb(variant.gpu_bytes), variant.label});
    if (has_pinned) {
      table.rows.back().push_back(variant.pinned_bytes > 0 ? deepspeed_gb(variant.pinned_bytes)
                                                           : "");
    }
  }
  if (has_pinned) {
    table.columns.emplace_back("pinned, of CPU");
    table.right_aligned.push_back(true);
  }
  return table;
}

TextTable variant_table(const FormulaOutcome& outcome, const EstimateInputs& inputs) {
  const bool has_host = std::ranges::any_of(
      outcome.variants, [](const FormulaVariant& row) { return row.host_bytes > 0; });
  if (has_host) {
    return host_variant_table(outcome, inputs);
  }
  TextTable table{fmt::format("{}, other cases of the same job", outcome.formula->name),
                  {"case", "per GPU"},
                  {},
                  {false, true}};
  for (const FormulaVariant& variant : outcome.variants) {
    table.rows.push_back({variant.label, bytes_text(variant.gpu_bytes)});
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

}  // namespace

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

}  // namespace highwater
