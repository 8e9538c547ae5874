#include "tools/reports/llmem_tables.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/studies/plan_search/plan_search.hpp"
#include "workloads/estimates/llmem/llmem_published.hpp"
#include "workloads/plan/catalog/presets.hpp"
#include "workloads/plan/llmem_chunks.hpp"

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

std::string seconds(const std::optional<int>& time) {
  return time ? std::to_string(*time) : "OOM";
}

/// null: the run was out of memory.
boost::json::value seconds_or_null(const std::optional<int>& time) {
  return time ? boost::json::value(*time) : boost::json::value(nullptr);
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

}  // namespace

TextTable llmem_table2_anew() {
  TextTable table{"LLMem, Table 2: one GPU of 16384 MiB, sequences of 512 tokens (MiB)",
                  {"model", "measured", "LLMem", "error", "DNNMem", "error", "batch implied",
                   "formulas, m_base 1100"},
                  {},
                  {false, true, true, true, true, true, true, true}};
  double dnnmem_sum = 0;
  double llmem_worst = 0;
  const auto percent = [](double error) { return fmt::format("{:.1f} %", error); };
  for (const LlmemMeasured& row : llmem_table2()) {
    const double llmem = error_percent(row.llmem, row.truth);
    const double dnnmem = error_percent(row.dnnmem, row.truth);
    llmem_worst = std::max(llmem_worst, llmem);
    dnnmem_sum += dnnmem;
    table.rows.push_back({std::string(row.model), fmt::format("{:.0f}", row.truth),
                          fmt::format("{:.0f}", row.llmem), percent(llmem),
                          fmt::format("{:.0f}", row.dnnmem), percent(dnnmem),
                          std::to_string(row.batch), fmt::format("{:.0f}", estimate_anew(row))});
  }
  const auto rows = static_cast<double>(table.rows.size());
  table.rows.push_back(
      {"largest, mean", "", "", percent(llmem_worst), "", percent(dnnmem_sum / rows), "", ""});
  return table;
}

TextTable llmem_table3_anew() {
  TextTable table{
      "LLMem, Table 3: four GPUs of 16384 MiB; largest batch by CDP / ADP / TP / DP+TP (2 x 2)",
      {"model", "formulas", "choice", "published code", "choice", "paper", "4DP s", "2DP+2TP s",
       "4TP s"},
      {},
      {false, false, false, false, false, false, true, true, true}};
  for (const LlmemSelected& row : llmem_table3()) {
    const auto selections = llmem_selections(published_inputs(row.model), published_cluster());
    const auto choice = [](const PlanSelection& entry) {
      return llmem_label(entry.selection.printed, published_cluster());
    };
    table.rows.push_back({std::string(row.model), batches_text(selections.front().selection),
                          choice(selections.front()), batches_text(selections.back().selection),
                          choice(selections.back()), std::string(row.selection), seconds(row.dp),
                          seconds(row.dp_tp), seconds(row.tp)});
  }
  return table;
}

std::vector<std::string> llmem_mismatches() {
  std::vector<std::string> notes;
  for (const LlmemSelected& row : llmem_table3()) {
    if (!row.mismatch.empty()) {
      notes.push_back(fmt::format("known mismatch, {}: {}", row.model, row.mismatch));
    }
  }
  return notes;
}

boost::json::object llmem_tables_json() {
  namespace json = boost::json;
  json::array measured;
  for (const LlmemMeasured& row : llmem_table2()) {
    measured.push_back({{"model", row.model},
                        {"measured_mib", row.truth},
                        {"llmem_mib", row.llmem},
                        {"llmem_error_percent", error_percent(row.llmem, row.truth)},
                        {"dnnmem_mib", row.dnnmem},
                        {"dnnmem_error_percent", error_percent(row.dnnmem, row.truth)},
                        {"batch_implied", row.batch},
                        {"formulas_mib", estimate_anew(row)}});
  }
  json::array selected;
  for (const LlmemSelected& row : llmem_table3()) {
    const auto selections = llmem_selections(published_inputs(row.model), published_cluster());
    selected.push_back(
        {{"model", row.model},
         {"formulas", selection_json(selections.front().selection)},
         {"published_code", selection_json(selections.back().selection)},
         {"paper_choice", row.selection},
         {"seconds_4dp", seconds_or_null(row.dp)},
         {"seconds_2dp_2tp", seconds_or_null(row.dp_tp)},
         {"seconds_4tp", seconds_or_null(row.tp)},
         {"mismatch", row.mismatch.empty() ? json::value(nullptr) : json::value(row.mismatch)}});
  }
  return {{"schema", "highwater.plan_published/1"},
          {"table2", std::move(measured)},
          {"table3", std::move(selected)}};
}

}  // namespace highwater
