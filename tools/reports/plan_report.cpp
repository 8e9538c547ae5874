#include "tools/reports/plan_report.hpp"

#include <algorithm>
#include <cmath>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/studies/plan_line.hpp"
#include "tools/text/safe_text.hpp"
#include "workloads/estimates/llmem/llmem_published.hpp"
#include "workloads/plan/options/option_table.hpp"
#include "workloads/plan/options/plan_json.hpp"
#include "workloads/plan/options/plan_summary.hpp"

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

TextTable selection_table(const PlanResult& result) {
  TextTable table{
      fmt::format("LLMem's Algorithm 1 on {} GPU{} of {}", result.cluster.n,
                  result.cluster.n == 1 ? "" : "s", bytes_text(result.cluster.capacity)),
      {"terms", "method", "largest batch", "score", "peak at it, at least at 1", "choice"},
      {},
      {false, false, true, true, true, false}};
  for (const PlanSelection& entry : result.selections) {
    std::string terms = entry.accounting;
    std::string choice = choice_text(entry.selection.printed, result.cluster);
    for (const LlmemMethod method : kLlmemMethods) {
      if (entry.cluster.can_run(method)) {
        const LlmemScore& score = entry.selection.of(method);
        table.rows.push_back({std::exchange(terms, ""), std::string(to_string(method)),
                              std::to_string(score.max_batch), fmt::format("{:g}", score.score),
                              bytes_text(score.peak), std::exchange(choice, "")});
      }
    }
  }
  return table;
}

/// The two endings of the algorithm, where they differ.
std::string ending_note(const PlanResult& result) {
  std::string text;
  for (const PlanSelection& entry : result.selections) {
    if (entry.selection.printed != entry.selection.corrected) {
      text += fmt::format(
          "{}: the algorithm's last line says {}, as TP has no batch that fits; the paper's text, "
          "which offloads only if no method fits, says {}\n",
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
    text += fmt::format("; with one m_base its formulas do not: {}", row->mismatch);
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

TextTable strategy_table(const PlanRequest& request, const StrategySearch& search) {
  const auto& results = search.results;
  TextTable table{fmt::format("By simulation, on {} GPU{} of {}", request.gpus,
                              request.gpus == 1 ? "" : "s", to_iec(request.device)),
                  {"strategy", "dp x tp x pp", "sp", "checkpoint", "accum", "largest batch",
                   "peak reserved", "speed", "batch x dp"},
                  {},
                  {false, false, false, false, true, true, true, true, true}};
  for (const StrategyResult& each : results) {
    const TrainingPlan& plan = each.candidate.plan;
    const double best = results.front().sequences_per_second;
    table.rows.push_back(
        {std::string(each.candidate.strategy), sizes(plan.parallel),
         plan.parallel.sequence_parallel ? "yes" : "", option_called("checkpoint").text(plan),
         std::to_string(plan.grad_accum), each.fits() ? std::to_string(plan.batch) : "none",
         to_iec(each.peak),
         each.fits() ? fmt::format("{:.2f}", each.sequences_per_second / best) : "",
         each.fits() ? std::to_string(each.llmem_score) : ""});
  }
  return table;
}

/// The first row as a command line.
std::string best_line(const PlanRequest& request, const StrategySearch& search) {
  const auto& results = search.results;
  return results.empty() || !results.front().fits()
             ? ""
             : "the first row: " + command_of(request, results.front()) + "\n";
}

std::string simulation_note(const TrainingPlan& base, const StrategySearch& search) {
  const bool is_pure = base.precision == Precision::bf16 || base.precision == Precision::fp16;
  std::string text = is_pure
                         ? "states: in 16 bit by DDP, FSDP and DTensors; DeepSpeed and Megatron "
                           "keep fp32 copies of parameters and fp32 moments\n"
                         : "";
  text +=
      "sp: sequence parallelism (--sp); accum: micro-batches per step (--grad-accum), 4 per stage "
      "of a pipeline unless given\n"
      "speed: sequences per second by a rough count of operations and bytes moved, relative to "
      "the first row; batch x dp: LLMem's score of Algorithm 1\n";
  if (search.dominated > 0) {
    text += fmt::format(
        "{} more kinds of checkpointing were passed over: their strategy does not fit with full "
        "checkpointing, or is a pipeline that needs none\n",
        search.dominated);
  }
  for (const std::string& reason : search.left_out) {
    text += "not simulated: " + reason + "\n";
  }
  return text;
}

json::object strategies_json(const PlanRequest& request, const StrategySearch& search) {
  json::array left_out;
  for (const std::string& reason : search.left_out) {
    left_out.emplace_back(reason);
  }
  json::array strategies;
  for (const StrategyResult& each : search.results) {
    strategies.push_back({{"strategy", each.candidate.strategy},
                          {"plan", plan_json(each.candidate.plan)},
                          {"command", command_of(request, each)},
                          {"fits", each.fits()},
                          {"find_batch", batch_search_json(each.batches)},
                          {"peak_reserved_bytes", each.peak.count()},
                          {"sequences_per_second", each.sequences_per_second},
                          {"llmem_score", each.llmem_score}});
  }
  return {{"results", std::move(strategies)},
          {"not_simulated", std::move(left_out)},
          {"passed_over", search.dominated}};
}

json::value method_or_null(const LlmemChoice& choice) {
  return choice ? json::value(to_string(*choice)) : json::value(nullptr);
}

json::object selection_json(const PlanSelection& entry, const LlmemCluster& cluster) {
  json::array methods;
  for (const LlmemMethod method : kLlmemMethods) {
    if (entry.cluster.can_run(method)) {
      const LlmemScore& score = entry.selection.of(method);
      methods.push_back({{"method", to_string(method)},
                         {"largest_batch", score.max_batch},
                         {"score", score.score},
                         {"peak_bytes", std::llround(score.peak)}});
    }
  }
  return {{"terms", entry.accounting},
          {"methods", std::move(methods)},
          {"choice", llmem_label(entry.selection.printed, cluster)},
          {"choice_method", method_or_null(entry.selection.printed)},
          {"choice_as_text_says", llmem_label(entry.selection.corrected, cluster)}};
}

}  // namespace

TextTable plan_table(const PlanResult& result) {
  TextTable table;
  table.columns = {"terms", "method", "largest_batch", "score", "peak_bytes", "choice"};
  for (const PlanSelection& entry : result.selections) {
    for (const LlmemMethod method : kLlmemMethods) {
      if (entry.cluster.can_run(method)) {
        const LlmemScore& score = entry.selection.of(method);
        table.rows.push_back({entry.accounting, std::string(to_string(method)),
                              std::to_string(score.max_batch), fmt::format("{:g}", score.score),
                              fmt::format("{:.0f}", score.peak),
                              llmem_label(entry.selection.printed, result.cluster)});
      }
    }
  }
  if (!result.simulated) {
    return table;
  }
  for (const StrategyResult& each : result.simulated->results) {
    const TrainingPlan& plan = each.candidate.plan;
    table.rows.push_back({"simulation",
                          fmt::format("{}, {}, checkpoint {}", each.candidate.strategy,
                                      sizes(plan.parallel), option_called("checkpoint").text(plan)),
                          std::to_string(each.batches.largest.value_or(0)),
                          std::to_string(each.llmem_score), std::to_string(each.peak.count()), ""});
  }
  return table;
}

std::string plan_text(const PlanRequest& request, const PlanResult& result, OutputFormat format) {
  const auto formatted = [format](const TextTable& table) {
    return format == OutputFormat::markdown ? format_markdown(table) : format_aligned(table);
  };
  std::string text = printable(plan_summary(request.run.plan)) + "\n\n";
  if (result.simulated) {
    text += formatted(strategy_table(request, *result.simulated)) +
            best_line(request, *result.simulated) +
            simulation_note(request.run.plan, *result.simulated) + "\n";
  }
  if (result.refusal.empty()) {
    text += formatted(selection_table(result)) + "\n" + ending_note(result) +
            published_note(request, result);
    for (const std::string& sentence : result.broken) {
      text += "LLMem: " + sentence + "\n";
    }
    text += fmt::format("LLMem's m_base, measured in the paper and not printed: {}\n",
                        to_iec(request.base));
  } else {
    text += "LLMem does not apply: " + result.refusal + "\n";
  }
  return text;
}

json::object plan_search_json(const PlanRequest& request, const PlanResult& result) {
  json::object root{{"schema", "highwater.plan/1"}};
  root["plan"] = plan_json(request.run.plan);
  root["gpus"] = request.gpus;
  root["tensor_parallel_group"] = request.tp;
  root["device_bytes"] = request.device.count();
  root["llmem_base_bytes"] = request.base.count();
  json::array selections;
  for (const PlanSelection& entry : result.selections) {
    selections.push_back(selection_json(entry, result.cluster));
  }
  root["llmem"] = std::move(selections);
  root["llmem_refusal"] =
      result.refusal.empty() ? json::value(nullptr) : json::value(result.refusal);
  json::array broken;
  for (const std::string& sentence : result.broken) {
    broken.emplace_back(sentence);
  }
  root["llmem_broken_assumptions"] = std::move(broken);
  const LlmemSelected* published = published_selection(request, result);
  root["published"] = published == nullptr ? json::value(nullptr)
                                           : json::value{{"choice", published->selection},
                                                         {"mismatch", published->mismatch}};
  root["strategies"] =
      result.simulated ? json::value(strategies_json(request, *result.simulated)) : nullptr;
  return root;
}

}  // namespace highwater
