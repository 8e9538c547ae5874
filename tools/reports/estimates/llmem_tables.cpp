#include "tools/reports/estimates/llmem_tables.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/studies/plan_search/plan_search.hpp"
#include "tools/text/report.hpp"
#include "workloads/estimates/llmem/llmem_published.hpp"
#include "workloads/plan/catalog/presets.hpp"
#include "workloads/plan/llmem_chunks.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

constexpr double kMib = 1024.0 * 1024.0;

EstimateInputs published_inputs(std::string_view model) {
  TrainingPlan plan;
  plan.model = model_preset(model);
  plan.seq = {kLlmemSequence};
  return estimate_inputs(plan);
}

double error_percent(double estimate, double truth) {
  return 100 * std::abs(estimate - truth) / truth;
}

/// The paper's formula for one GPU, MiB.
double estimate_anew(const LlmemMeasured& row) {
  const EstimateInputs inputs = published_inputs(row.model);
  const LlmemInventory inventory = llmem_inventory(inputs.plan.model, inputs.tensors);
  const LlmemBatch batch{.bs = static_cast<double>(row.batch), .sl = kLlmemSequence};
  const LlmemJob job{.m_base = static_cast<double>(kLlmemBase.count())};
  const std::int64_t chunk = gemini_chunk_size(llmem_local_sizes(inventory, 1));
  return llmem_peak(LlmemMethod::cdp, inventory, chunk, batch, job).bytes() / kMib;
}

LlmemCluster published_cluster() {
  return {.capacity = kLlmemCardMib * kMib, .n = kLlmemGpus, .tp_n = kLlmemTpGroup};
}

std::string batches_text(const LlmemSelection& selection) {
  std::vector<std::string> batches;
  for (const LlmemMethod method : kLlmemMethods) {
    batches.push_back(fmt::format("{}", selection.of(method).max_batch));
  }
  return fmt::format("{}", fmt::join(batches, " / "));
}

/// null: the run was out of memory.
Cell seconds_cell(const std::optional<int>& time) {
  return time ? Cell(*time) : Cell(time).written_as("OOM");
}

Cell mib_cell(double mib) {
  return Cell(mib).written_as(fmt::format("{:.0f}", mib));
}

Cell error_cell(double percent) {
  return Cell(percent).written_as(fmt::format("{:.1f} %", percent));
}

/// Largest batches by method, and the choice.
boost::json::object selection_json(const LlmemSelection& selection) {
  boost::json::object batches;
  for (const LlmemMethod method : kLlmemMethods) {
    batches[to_string(method)] = selection.of(method).max_batch;
  }
  return {{"largest_batch", std::move(batches)},
          {"choice", llmem_label(selection.printed, published_cluster())}};
}

double llmem_error(const LlmemMeasured& row) {
  return error_percent(row.llmem, row.truth);
}

double dnnmem_error(const LlmemMeasured& row) {
  return error_percent(row.dnnmem, row.truth);
}

Table measured_table() {
  using enum Align;
  static const Columns<LlmemMeasured> kColumns{
      {"model", "model", left, &LlmemMeasured::model},
      {"measured_mib", "measured", right, [](const auto& row) { return mib_cell(row.truth); }},
      {"llmem_mib", "LLMem", right, [](const auto& row) { return mib_cell(row.llmem); }},
      {"llmem_error_percent", "error", right,
       [](const auto& row) { return error_cell(llmem_error(row)); }},
      {"dnnmem_mib", "DNNMem", right, [](const auto& row) { return mib_cell(row.dnnmem); }},
      {"dnnmem_error_percent", "error", right,
       [](const auto& row) { return error_cell(dnnmem_error(row)); }},
      {"batch_implied", "implied batch", right, &LlmemMeasured::batch},
      {"formulas_mib", "formulas, m_base 1100", right,
       [](const auto& row) { return mib_cell(estimate_anew(row)); }}};
  return tabulate("LLMem, Table 2: one GPU of 16384 MiB, sequences of 512 tokens (MiB)", kColumns,
                  llmem_table2());
}

/// The largest error of LLMem, the mean one of DNNMem.
std::vector<Cell> error_row() {
  double dnnmem_sum = 0;
  double llmem_worst = 0;
  for (const LlmemMeasured& row : llmem_table2()) {
    llmem_worst = std::max(llmem_worst, llmem_error(row));
    dnnmem_sum += dnnmem_error(row);
  }
  const auto rows = static_cast<double>(llmem_table2().size());
  return {
      "largest, mean", {}, {}, error_cell(llmem_worst), {}, error_cell(dnnmem_sum / rows), {}, {}};
}

/// A row of Table 3 beside Algorithm 1 anew.
struct SelectedRow {
  const LlmemSelected* paper = nullptr;
  std::vector<PlanSelection> anew;  ///< by the formulas first, by the published code last
};

/// Text: the largest batches. JSON: those by method, and the choice.
Cell selection_cell(const PlanSelection& anew) {
  Cell cell = batches_text(anew.selection);
  cell.json = [selection = anew.selection]() -> boost::json::value {
    return selection_json(selection);
  };
  return cell;
}

Cell label_cell(const PlanSelection& anew) {
  return llmem_label(anew.selection.printed, published_cluster());
}

Cell mismatch_cell(const SelectedRow& row) {
  return row.paper->mismatch.empty() ? Cell::blank() : Cell(row.paper->mismatch);
}

Table selected_table() {
  using enum Align;
  using Row = SelectedRow;
  static const Columns<SelectedRow> kColumns{
      {"model", "model", left, [](const Row& row) { return row.paper->model; }},
      {"formulas", "formulas", left,
       [](const Row& row) { return selection_cell(row.anew.front()); }},
      {"", "choice", left, [](const Row& row) { return label_cell(row.anew.front()); }},
      {"published_code", "published code", left,
       [](const Row& row) { return selection_cell(row.anew.back()); }},
      {"", "choice", left, [](const Row& row) { return label_cell(row.anew.back()); }},
      {"paper_choice", "paper", left, [](const Row& row) { return row.paper->selection; }},
      {"seconds_4dp", "4DP s", right, [](const Row& row) { return seconds_cell(row.paper->dp); }},
      {"seconds_2dp_2tp", "2DP+2TP s", right,
       [](const Row& row) { return seconds_cell(row.paper->dp_tp); }},
      {"seconds_4tp", "4TP s", right, [](const Row& row) { return seconds_cell(row.paper->tp); }},
      {"mismatch", "", left, mismatch_cell}};
  std::vector<SelectedRow> rows;
  for (const LlmemSelected& row : llmem_table3()) {
    rows.push_back({&row, llmem_selections(published_inputs(row.model), published_cluster())});
  }
  return tabulate(
      "LLMem, Table 3: four GPUs of 16384 MiB; largest batch by CDP / ADP / TP / DP+TP (2 x 2)",
      kColumns, rows);
}

}  // namespace

std::string llmem_tables_report(OutputFormat format) {
  Report report(format, "highwater.plan_published/1");
  Table measured = measured_table();
  report.json("table2", [&] { return rows_json(measured); });
  measured.rows.push_back(error_row());
  for (const Table& table : {measured, selected_table()}) {
    report.table(table);
    report.csv([&] { return table; }, Gap::after);
  }
  report.json("table3", [&] { return rows_json(selected_table()); });
  for (const LlmemSelected& row : llmem_table3()) {
    if (!row.mismatch.empty()) {
      report.text(fmt::format("known mismatch, {}: {}\n", row.model, row.mismatch));
    }
  }
  return report.str();
}

}  // namespace highwater
