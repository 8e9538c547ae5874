#include "tools/reports/plan_report.hpp"

#include <algorithm>
#include <cmath>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/engine/engine.hpp"
#include "tools/studies/plan_line.hpp"
#include "tools/text/report.hpp"
#include "workloads/estimates/llmem/llmem_published.hpp"
#include "workloads/plan/options/option_table.hpp"
#include "workloads/plan/options/plan_json.hpp"

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

// The other axes only where they are used.
std::string sizes(const Parallelism& p) {
  return fmt::format("{} x {} x {}{}{}{}", p.dp, p.tp, p.pp,
                     p.fsdp.replicas > 1 ? fmt::format(", {} copies", p.fsdp.replicas) : "",
                     p.cp > 1 ? fmt::format(", cp {}", p.cp) : "",
                     p.ep > 1 ? fmt::format(", ep {}", p.ep) : "");
}

/// What `simulate` has to be told where the plan's device is not a named GPU's own memory.
std::optional<Bytes> capacity_option(const PlanRequest& request, const StrategyResult& result) {
  const bool is_whole_gpu =
      request.run.gpu_named && request.device == request.run.plan.gpu.total_memory;
  return is_whole_gpu ? std::nullopt : std::optional(result.capacity);
}

std::string command_of(const PlanRequest& request, const StrategyResult& result) {
  return simulate_line(result.candidate.plan, {.model = request.model,
                                               .is_gpu_named = request.run.gpu_named,
                                               .capacity = capacity_option(request, result),
                                               .alloc_conf = request.memory.alloc_conf});
}

/// A strategy among the others.
struct StrategyRow {
  const PlanRequest* request = nullptr;
  const StrategyResult* result = nullptr;
  double best = 0;  ///< sequences per second of the fastest

  [[nodiscard]] const TrainingPlan& plan() const { return result->candidate.plan; }
};

/// Other words where nothing fits.
Cell if_fits(const StrategyRow& row, Cell cell, std::string shown, const char* otherwise) {
  return std::move(cell).shown_as(row.result->fits() ? std::move(shown) : otherwise);
}

Cell largest_batch_cell(const StrategyRow& row) {
  return if_fits(row, row.plan().batch, std::to_string(row.plan().batch), "none");
}

Cell speed_cell(const StrategyRow& row) {
  const double speed = row.result->sequences_per_second;
  return if_fits(row, speed, fmt::format("{:.2f}", speed / row.best), "");
}

Cell llmem_score_cell(const StrategyRow& row) {
  const std::int64_t score = row.result->llmem_score;
  return if_fits(row, score, std::to_string(score), "");
}

template <class Make>
auto nested_cell(Make make) {
  return [make](const StrategyRow& row) {
    return nested([make, row]() -> json::value { return make(row); });
  };
}

const Columns<StrategyRow>& strategy_columns() {
  using enum Align;
  static const Columns<StrategyRow> kColumns{
      {"strategy", "strategy", left,
       [](const StrategyRow& row) { return row.result->candidate.strategy; }},
      {"plan", "", left, nested_cell([](const StrategyRow& row) { return plan_json(row.plan()); })},
      {"command", "", left, nested_cell([](const StrategyRow& row) {
         return json::value(command_of(*row.request, *row.result));
       })},
      {"fits", "", left, [](const StrategyRow& row) { return row.result->fits(); }},
      {"find_batch", "", left,
       nested_cell([](const StrategyRow& row) { return batch_search_json(row.result->batches); })},
      {"", "dp x tp x pp", left, [](const StrategyRow& row) { return sizes(row.plan().parallel); }},
      {"", "sp", left,
       [](const StrategyRow& row) { return row.plan().parallel.sequence_parallel ? "yes" : ""; }},
      {"", "checkpoint", left,
       [](const StrategyRow& row) { return option_called("checkpoint").text(row.plan()); }},
      {"", "accum", right, [](const StrategyRow& row) { return row.plan().grad_accum; }},
      {"", "largest batch", right, largest_batch_cell},
      {"peak_reserved_bytes", "peak reserved", right,
       [](const StrategyRow& row) { return row.result->peak; }},
      {"sequences_per_second", "speed", right, speed_cell},
      {"llmem_score", "batch x dp", right, llmem_score_cell}};
  return kColumns;
}

Table strategy_table(const PlanRequest& request, const StrategySearch& search) {
  std::vector<StrategyRow> rows;
  for (const StrategyResult& result : search.results) {
    rows.push_back({&request, &result, search.results.front().sequences_per_second});
  }
  return tabulate(fmt::format("By simulation, on {} GPU{} of {}", request.gpus,
                              request.gpus == 1 ? "" : "s", to_iec(request.device)),
                  strategy_columns(), rows);
}

/// The first row as a command line.
std::string best_line(const PlanRequest& request, const StrategySearch& search) {
  const auto& results = search.results;
  return results.empty() || !results.front().fits()
             ? ""
             : "the first row: " + command_of(request, results.front()) + "\n";
}

/// "FSDP1, FSDP2 and DeepSpeed ZeRO-3": those that fit, once each, in order.
std::string fitting_strategies(const StrategySearch& search) {
  std::vector<std::string_view> names;
  for (const StrategyResult& result : search.results) {
    if (result.fits() && std::ranges::find(names, result.candidate.strategy) == names.end()) {
      names.push_back(result.candidate.strategy);
    }
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

/// Why a smaller batch or a shorter sequence does not help, and what does.
std::string states_note(const PlanResult& result) {
  if (!result.whole_states) {
    return "";
  }
  const std::string fitting = fitting_strategies(*result.simulated);
  return fmt::format(
      "a smaller batch or a shorter sequence does not make the whole model fit on one GPU: "
      "parameters, gradients and optimizer states alone take {} of {}; {}",
      to_iec(result.whole_states->states), to_iec(result.whole_states->capacity),
      fitting.empty() ? "more GPUs (--gpus) divide them, and simulate names what else would help"
                      : "divided among GPUs or moved to the host they fit: " + fitting);
}

std::string simulation_note(const TrainingPlan& base, const StrategySearch& search) {
  const bool is_pure = model_dtype(base.precision) != DType::fp32;
  std::string text = is_pure ? "states: 16-bit with DDP, FSDP and DTensors; DeepSpeed and Megatron "
                               "keep fp32 copies of parameters and fp32 moments\n"
                             : "";
  text +=
      "sp: sequence parallelism (--sp); accum: micro-batches per step (--grad-accum), 4 per stage "
      "of a pipeline unless given\n"
      "speed: sequences per second by a rough count of operations and bytes moved, relative to "
      "the first row; batch x dp: LLMem's score of Algorithm 1\n";
  if (search.dominated > 0) {
    text += fmt::format(
        "{} more kinds of checkpointing were skipped: their strategy does not fit even with full "
        "checkpointing, or is a pipeline that needs none\n",
        search.dominated);
  }
  for (const std::string& reason : search.left_out) {
    text += "not simulated: " + reason + "\n";
  }
  return text;
}

json::value whole_states_json(const PlanResult& result) {
  return result.whole_states
             ? json::value{{"bytes", result.whole_states->states.count()},
                           {"capacity_bytes", result.whole_states->capacity.count()},
                           {"meaning", states_note(result)}}
             : json::value(nullptr);
}

json::object strategies_json(const PlanRequest& request, const PlanResult& result) {
  const StrategySearch& search = *result.simulated;
  return {{"results", rows_json(strategy_table(request, search))},
          {"states_above_a_gpu", whole_states_json(result)},
          {"not_simulated", words_json(search.left_out)},
          {"passed_over", search.dominated}};
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

/// One row per accounting and method, then one per strategy simulated.
Table csv_table(const PlanResult& result) {
  Table table = selection_table(result);
  if (!result.simulated) {
    return table;
  }
  for (const StrategyResult& each : result.simulated->results) {
    const TrainingPlan& plan = each.candidate.plan;
    table.rows.push_back({"simulation",
                          fmt::format("{}, {}, checkpoint {}", each.candidate.strategy,
                                      sizes(plan.parallel), option_called("checkpoint").text(plan)),
                          each.batches.largest.value_or(0), each.llmem_score, each.peak, ""});
  }
  return table;
}

void add_simulated(const PlanRequest& request, const PlanResult& result, OutputFormat format,
                   Report& report) {
  const StrategySearch& search = *result.simulated;
  report.text(format_table(strategy_table(request, search), format));
  report.text(best_line(request, search));
  if (const std::string note = states_note(result); !note.empty()) {
    report.line(note);
  }
  report.text(simulation_note(request.run.plan, search) + "\n");
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
  Report report(format, "highwater.plan/1");
  report.line(run_summary(request.run.plan));
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
  report.csv([&] { return csv_table(result); });
  add_json(request, result, report);
  return report.str();
}

}  // namespace highwater
