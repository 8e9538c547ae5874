#include "tools/reports/plan_report.hpp"

#include <algorithm>
#include <cmath>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/engine/engine.hpp"
#include "tools/reports/left_out.hpp"
#include "tools/reports/plan_rows.hpp"
#include "tools/text/report.hpp"
#include "workloads/estimates/llmem/llmem_published.hpp"
#include "workloads/plan/options/option_table.hpp"
#include "workloads/plan/options/plan_json.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

namespace json = boost::json;

/// The choice; on one GPU there is nothing to choose but whether it fits.
std::string choice_text(const LlmemChoice& choice, const LlmemCluster& cluster) {
  if (!choice || cluster.n == 1) {
    return choice ? "fits" : llmem_label(choice, cluster);
  }
  return fmt::format("{} ({})", llmem_label(choice, cluster), to_string(*choice));
}

/// A method of Algorithm 1 under one accounting.
struct MethodRow {
  const PlanSelection* selection = nullptr;
  const LlmemCluster* cluster = nullptr;
  LlmemMethod method = LlmemMethod::cdp;
  bool is_first = false;  ///< of its accounting

  [[nodiscard]] const LlmemScore& score() const { return selection->selection.of(method); }
};

std::vector<MethodRow> method_rows(const PlanSelection& selection, const LlmemCluster& cluster) {
  std::vector<MethodRow> rows;
  for (const LlmemMethod method : kLlmemMethods) {
    if (selection.cluster.can_run(method)) {
      rows.push_back({&selection, &cluster, method, rows.empty()});
    }
  }
  return rows;
}

std::vector<MethodRow> method_rows(const PlanResult& result) {
  std::vector<MethodRow> rows;
  for (const PlanSelection& selection : result.selections) {
    const std::vector<MethodRow> more = method_rows(selection, result.cluster);
    rows.insert(rows.end(), more.begin(), more.end());
  }
  return rows;
}

/// For people once for all methods of an accounting.
Cell terms_cell(const MethodRow& row) {
  const std::string& terms = row.selection->accounting;
  return Cell(terms).shown_as(row.is_first ? terms : "");
}

Cell choice_cell(const MethodRow& row) {
  const LlmemChoice& choice = row.selection->selection.printed;
  return Cell(llmem_label(choice, *row.cluster))
      .shown_as(row.is_first ? choice_text(choice, *row.cluster) : "");
}

Cell score_cell(const MethodRow& row) {
  return Cell(row.score().score).written_as(fmt::format("{:g}", row.score().score));
}

Cell method_peak_cell(const MethodRow& row) {
  const double peak = row.score().peak;
  return Cell(std::llround(peak)).shown_as(bytes_text(peak));
}

Table method_table(std::string title, const std::vector<MethodRow>& rows) {
  using enum Align;
  static const Columns<MethodRow> kColumns{
      {"", "terms", left, terms_cell},
      {"method", "method", left, [](const MethodRow& row) { return to_string(row.method); }},
      {"largest_batch", "largest batch", right,
       [](const MethodRow& row) { return row.score().max_batch; }, "largest_batch"},
      {"score", "score", right, score_cell},
      {"peak_bytes", "peak at that batch, or at 1", right, method_peak_cell, "peak_bytes"},
      {"", "choice", left, choice_cell}};
  return tabulate(std::move(title), kColumns, rows);
}

Table selection_table(const PlanResult& result) {
  return method_table(
      fmt::format("LLMem's Algorithm 1 on {} GPU{} of {}", result.cluster.n,
                  result.cluster.n == 1 ? "" : "s", bytes_text(result.cluster.capacity)),
      method_rows(result));
}

/// The two endings of the algorithm, where they differ.
std::string ending_note(const PlanResult& result) {
  std::string text;
  for (const PlanSelection& entry : result.selections) {
    if (entry.selection.printed != entry.selection.corrected) {
      text += fmt::format(
          "{}: the algorithm's last line selects {}, because TP has no batch that fits; the "
          "paper's text, which offloads only if no method fits, selects {}\n",
          entry.accounting, llmem_label(entry.selection.printed, result.cluster),
          llmem_label(entry.selection.corrected, result.cluster));
    }
  }
  return text;
}

const LlmemSelected* published_selection(const PlanRequest& request, const PlanResult& result) {
  const TrainingPlan& plan = request.run.plan;
  const bool is_their_job = plan.seq.size() == 1 && plan.seq.front() == kLlmemSequence &&
                            request.gpus == kLlmemGpus && request.tp == kLlmemTpGroup &&
                            result.refusal.empty();
  const auto rows = llmem_table3();
  const auto found = std::ranges::find(rows, plan.model.name, &LlmemSelected::model);
  return is_their_job && found != rows.end() ? &*found : nullptr;
}

std::string published_note(const PlanRequest& request, const PlanResult& result) {
  const LlmemSelected* row = published_selection(request, result);
  if (row == nullptr) {
    return "";
  }
  std::string text =
      fmt::format("LLMem's Table 3 prints {} for this model on cards of 16384 MiB", row->selection);
  if (!row->mismatch.empty()) {
    text += fmt::format("; with a single m_base its formulas do not: {}", row->mismatch);
  }
  return text + "\n";
}

json::value method_or_null(const LlmemChoice& choice) {
  return choice ? json::value(to_string(*choice)) : json::value(nullptr);
}

json::object selection_json(const PlanSelection& entry, const LlmemCluster& cluster) {
  return {{"terms", entry.accounting},
          {"methods", rows_json(method_table("", method_rows(entry, cluster)))},
          {"choice", llmem_label(entry.selection.printed, cluster)},
          {"choice_method", method_or_null(entry.selection.printed)},
          {"choice_as_text_says", llmem_label(entry.selection.corrected, cluster)}};
}

/// The rows of the plan; LLMem's methods where nothing was simulated.
Table csv_table(const PlanRequest& request, const PlanResult& result) {
  return result.simulated ? csv_table_of(request, result) : selection_table(result);
}

void add_simulated(const PlanRequest& request, const PlanResult& result, OutputFormat format,
                   Report& report) {
  report.text(format_table(strategy_table_of(request, result), format));
  report.text(strategy_notes(request, result) + "\n");
}

void add_llmem(const PlanRequest& request, const PlanResult& result, Report& report) {
  report.table(selection_table(result));
  report.text(ending_note(result) + published_note(request, result));
  for (const std::string& sentence : result.broken) {
    report.text("LLMem: " + sentence + "\n");
  }
  report.text(fmt::format("LLMem's m_base, measured in the paper and not printed: {}\n",
                          to_iec(request.base)));
}

json::array selections_json(const PlanResult& result) {
  json::array selections;
  for (const PlanSelection& entry : result.selections) {
    selections.push_back(selection_json(entry, result.cluster));
  }
  return selections;
}

json::value published_json(const PlanRequest& request, const PlanResult& result) {
  const LlmemSelected* published = published_selection(request, result);
  return published == nullptr
             ? json::value(nullptr)
             : json::value{{"choice", published->selection}, {"mismatch", published->mismatch}};
}

void add_json(const PlanRequest& request, const PlanResult& result, Report& report) {
  report.json("plan", [&] { return plan_json(request.run.plan); });
  report.json("notes", [&] { return words_json(request.run.notes); });
  report.value("gpus", request.gpus);
  report.value("tensor_parallel_group", request.tp);
  report.value("device_bytes", request.device);
  report.value("llmem_base_bytes", request.base);
  report.json("llmem", [&] { return selections_json(result); });
  report.value("llmem_refusal", result.refusal.empty() ? Cell::blank() : Cell(result.refusal));
  report.json("llmem_broken_assumptions", [&] { return words_json(result.broken); });
  report.json("published", [&] { return published_json(request, result); });
  report.json("strategies", [&] {
    return result.simulated ? json::value(strategies_json(request, result)) : nullptr;
  });
}

}  // namespace

std::string plan_report(const PlanRequest& request, const PlanResult& result, OutputFormat format) {
  Report report(format, "highwater.plan/2");
  report.line(run_summary(request.run.plan));
  if (const std::string left_out = left_out_sentence(request.run.left_out); !left_out.empty()) {
    report.line(left_out);
  }
  report.line("");
  if (result.simulated) {
    add_simulated(request, result, format, report);
  }
  if (result.refusal.empty()) {
    add_llmem(request, result, report);
  } else {
    report.text("LLMem does not apply: " + result.refusal + "\n");
  }
  for (const std::string& note : request.run.notes) {
    report.line("note: " + note);
  }
  report.csv([&] { return csv_table(request, result); });
  add_json(request, result, report);
  return report.str();
}

}  // namespace highwater
