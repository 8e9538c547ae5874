#include "tools/reports/solving/solve_report.hpp"

#include <boost/json.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/engine/engine.hpp"
#include "tools/reports/plan_line.hpp"
#include "tools/text/report.hpp"
#include "workloads/plan/options/plan_json.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/training/outside_memory.hpp"

namespace highwater {
namespace {

namespace json = boost::json;

const FieldTrial* best_of(const SolvedField& solved) {
  return solved.best ? &solved.trials[*solved.best] : nullptr;
}

const FieldTrial* next_of(const SolvedField& solved) {
  return solved.next ? &solved.trials[*solved.next] : nullptr;
}

/// Capacities in steps of 2 MiB, which GiB with two decimals would not tell apart.
std::string value_text(const MetricValue& value) {
  const auto* const bytes = std::get_if<Bytes>(&value);
  return bytes == nullptr ? to_text(value) : fmt::format("{} MiB", bytes->count() >> 20);
}

Cell value_cell(const MetricValue& value) {
  return Cell(value).shown_as(value_text(value));
}

Cell answer_cell(const SolvedField& solved) {
  const FieldTrial* best = best_of(solved);
  return best == nullptr ? Cell(MetricValue()).shown_as("none fits") : value_cell(best->value);
}

/// Blank where there is no such trial.
template <class Get>
Cell cell_of(const FieldTrial* trial, Get get) {
  return trial == nullptr ? Cell(MetricValue()) : Cell(get(*trial));
}

Cell peak_cell(const SolvedField& solved) {
  return cell_of(best_of(solved), [](const FieldTrial& trial) { return trial.outcome.peak; });
}

Cell next_cell(const SolvedField& solved) {
  return cell_of(next_of(solved), [](const FieldTrial& trial) { return value_cell(trial.value); });
}

bool is_refused(const FieldTrial& trial) {
  return !trial.outcome.refusal.empty();
}

std::string next_words(const SolvedField& solved) {
  const FieldTrial* next = next_of(solved);
  if (next == nullptr) {
    return solved.trials.size() == 1 ? "there is no value beyond" : "the search ends there";
  }
  return is_refused(*next) ? "refused: " + next->outcome.refusal : "does not fit";
}

json::array trials_json(const SolvedField& solved) {
  json::array trials;
  for (const FieldTrial& trial : solved.trials) {
    trials.push_back({{"value", to_json(trial.value)},
                      {"fits", trial.outcome.fits},
                      {"peak_reserved_bytes", trial.outcome.peak.count()},
                      {"refusal", is_refused(trial) ? json::value(trial.outcome.refusal)
                                                    : json::value(nullptr)}});
  }
  return trials;
}

const Columns<SolvedField>& field_columns() {
  using enum Align;
  static const Columns<SolvedField> kColumns{
      {"field", "solved for", left, [](const SolvedField& row) { return row.field->name; }},
      {"asks", "", left, [](const SolvedField& row) { return row.field->asks; }},
      {"answer", "answer", left, answer_cell},
      {"peak_reserved_bytes", "peak reserved", right, peak_cell},
      {"step", "step", right, [](const SolvedField& row) { return value_cell(row.step); }},
      {"next", "next", right, next_cell},
      {"next_outcome", "which", left, next_words},
      {"trials", "", left, [](const SolvedField& row) {
         return nested([&row]() -> json::value { return trials_json(row); });
       }}};
  return kColumns;
}

/// "batch: 1, 2, 4, 3".
std::string tried_line(const SolvedField& solved) {
  std::vector<std::string> values;
  for (const FieldTrial& trial : solved.trials) {
    values.push_back(value_text(trial.value));
  }
  return fmt::format("{}: {}", solved.field->name, fmt::join(values, ", "));
}

std::string width_line(const ModelSpec& model) {
  const ModelShape shape = shape_of(model);
  return fmt::format(
      "the model: hidden size {}, {} heads, {} key-value heads of {}, feed-forward {}",
      shape.hidden, shape.heads, shape.kv_heads, shape.head_dim, shape.ffn);
}

void add_room(const SolveResult& result, Report& report) {
  const Bytes outside = outside_memory(result.run.plan).total();
  const auto available = result.room.most();
  report.value("available_bytes", Cell(available));
  report.value("outside_bytes", Cell(outside));
  if (available) {
    report.line(fmt::format("memory for the allocator: {}; the process needs {} of the GPU besides",
                            to_iec(*available), to_iec(outside)));
  }
}

void add_fields(const SolveResult& result, Report& report) {
  const Table table = tabulate("", field_columns(), result.fields);
  report.table(table, Gap::none);
  report.json("fields", [&] { return rows_json(table); });
  if (!result.fields.empty()) {
    report.csv([&] { return table; }, result.frontier ? Gap::after : Gap::none);
  }
  std::vector<std::string> tried;
  for (const SolvedField& solved : result.fields) {
    tried.push_back(tried_line(solved));
  }
  report.items("tried, each simulated", tried);
  if (!result.fields.empty() && result.fields.front().best) {
    report.line(
        "An answer fits and the next value does not, as simulated; memory need not grow evenly, "
        "and values beyond may fit again.");
  }
}

Table frontier_table(const Frontier& frontier) {
  return tabulate("Memory against recomputation", frontier_columns(), frontier.rows);
}

void add_frontier(const SolveResult& result, Report& report) {
  if (!result.frontier) {
    report.value("frontier", Cell(MetricValue()));
    return;
  }
  report.rows("frontier", frontier_table(*result.frontier), Gap::before);
  report.line(
      "frontier: of the plans that fit, no other takes less memory and no more time, or less time "
      "and no more memory");
}

}  // namespace

const Columns<FrontierRow>& frontier_columns() {
  using enum Align;
  static const Columns<FrontierRow> kColumns{
      {"checkpoint", "checkpoint", left, &FrontierRow::checkpoint},
      {"batch", "batch", right, &FrontierRow::batch},
      {"recomputation", "recomputation", right,
       [](const FrontierRow& row) { return percent_cell(row.recomputation, 1); }, "recomputation"},
      {"time", "time per sequence", right,
       [](const FrontierRow& row) { return signed_percent_cell(row.time, 1); }, "time"},
      {"peak_reserved_bytes", "peak reserved", right, &FrontierRow::peak, "peak_reserved_bytes"},
      {"fits", "fits", left, &FrontierRow::fits},
      {"is_efficient", "frontier", left,
       [](const FrontierRow& row) {
         return Cell(row.is_efficient).shown_as(row.is_efficient ? "*" : "");
       },
       "is_efficient"}};
  return kColumns;
}

std::string solved_line(const SolveReport& report) {
  const SolveResult& result = report.result;
  return simulate_line(result.run.plan, {.model = report.model,
                                         .is_gpu_named = result.run.gpu_named,
                                         .capacity = result.state.memory.capacity,
                                         .memory_limit = result.room.memory_limit,
                                         .alloc_conf = result.state.memory.alloc_conf});
}

std::string solve_report(const SolveReport& of, OutputFormat format) {
  const SolveResult& result = of.result;
  Report report(format, "highwater.solve/1");
  report.line(run_summary(result.run.plan));
  report.line("");
  add_fields(result, report);
  if (result.run.plan.model.width) {
    report.line(width_line(result.run.plan.model));
  }
  add_room(result, report);
  if (result.is_solved()) {
    report.line("simulate it: " + solved_line(of));
  }
  add_frontier(result, report);
  for (const std::string& note : result.run.notes) {
    report.line("note: " + note);
  }
  report.value("command", Cell(solved_line(of)));
  report.json("plan", [&] { return plan_json(result.run.plan); });
  report.json("notes", [&] { return words_json(result.run.notes); });
  return report.str();
}

}  // namespace highwater
