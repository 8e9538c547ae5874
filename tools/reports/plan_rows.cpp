#include "tools/reports/plan_rows.hpp"

#include <algorithm>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/reports/plan_line.hpp"
#include "tools/studies/plan_search/row_reasons.hpp"
#include "workloads/plan/options/option_table.hpp"
#include "workloads/plan/options/plan_json.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/step_time/machine.hpp"

namespace highwater {
namespace {

namespace json = boost::json;

constexpr double kGiga = 1e9;

/// What `simulate` has to be told where the plan's device is not a named GPU's own memory.
std::optional<Bytes> capacity_option(const PlanRequest& request, const StrategyResult& result) {
  const bool is_whole_gpu =
      request.run.gpu_named && request.device == request.run.plan.gpu.total_memory;
  return is_whole_gpu ? std::nullopt : std::optional(result.capacity);
}

std::string command_of(const PlanRequest& request, const StrategyResult& result) {
  return simulate_line(result.plan, {.model = request.model,
                                     .is_gpu_named = request.run.gpu_named,
                                     .capacity = capacity_option(request, result),
                                     .alloc_conf = request.memory.alloc_conf});
}

/// A strategy among the others.
struct RowView {
  const PlanRequest* request = nullptr;
  const StrategyResult* result = nullptr;
  const StrategyResult* first = nullptr;

  [[nodiscard]] const TrainingPlan& plan() const { return result->plan; }
};

/// Other words where nothing fits.
Cell if_fits(const RowView& row, Cell cell, std::string shown, const char* otherwise) {
  return std::move(cell).shown_as(row.result->fits ? std::move(shown) : otherwise);
}

Cell batch_cell(const RowView& row) {
  return if_fits(row, row.plan().batch, std::to_string(row.plan().batch), "none");
}

double speed_of(const StrategyResult& result) {
  return result.fits ? result.time.sequences_per_second() : 0;
}

Cell speed_cell(const RowView& row) {
  const double speed = speed_of(*row.result);
  return if_fits(row, speed, fmt::format("{:.2f}", speed / speed_of(*row.first)), "");
}

/// Of each GPU and second.
double tokens_of(const RowView& row) {
  const double tokens = static_cast<double>(sequence_length(row.plan(), 0));
  return speed_of(*row.result) * tokens / row.request->gpus;
}

Cell tokens_cell(const RowView& row) {
  const double tokens = tokens_of(row);
  return if_fits(row, tokens, fmt::format("{:.0f}", tokens), "");
}

template <class Make>
auto nested_cell(Make make) {
  return [make](const RowView& row) {
    return nested([make, row]() -> json::value { return make(row); });
  };
}

json::value step_json(const RowView& row) {
  json::object parts;
  for (std::size_t i = 0; i < kStepParts; ++i) {
    const auto part = static_cast<StepPart>(i);
    std::string key(to_string(part));
    std::ranges::replace(key, ' ', '_');
    std::ranges::replace(key, '-', '_');
    parts[key + "_s"] = row.result->time[part];
  }
  return {{"total_s", row.result->time.total()}, {"parts", std::move(parts)}};
}

json::value also_json(const RowView& row) {
  json::array names;
  for (const std::string_view name : row.result->also) {
    names.emplace_back(name);
  }
  return names;
}

std::string checkpoint_of(const TrainingPlan& plan) {
  return option_called("checkpoint").text(plan);
}

std::string why_of(const RowView& row) {
  return why_not_higher(*row.result, *row.first);
}

const Columns<RowView>& row_columns() {
  using enum Align;
  static const Columns<RowView> kColumns{
      {"strategy", "strategy", left, [](const RowView& row) { return row.result->strategy->name; }},
      {"states", "states", left,
       [](const RowView& row) { return training_kinds()[row.result->kind].states; }},
      {"plan", "", left, nested_cell([](const RowView& row) { return plan_json(row.plan()); })},
      {"command", "", left, nested_cell([](const RowView& row) {
         return json::value(command_of(*row.request, *row.result));
       })},
      {"fits", "", left, [](const RowView& row) { return row.result->fits; }},
      {"", "dp x tp x pp", left, [](const RowView& row) { return sizes_of(row.plan().parallel); }},
      {"", "checkpoint", left, [](const RowView& row) { return checkpoint_of(row.plan()); }},
      {"", "accum", right, [](const RowView& row) { return row.plan().grad_accum; }},
      {"", "batch", right, batch_cell},
      {"peak_reserved_bytes", "peak reserved", right,
       [](const RowView& row) { return row.result->peak; }},
      {"capacity_bytes", "", right, [](const RowView& row) { return row.result->capacity; }},
      {"tokens_per_second_per_gpu", "tokens/s/GPU", right, tokens_cell},
      {"sequences_per_second", "speed", right, speed_cell},
      {"step", "", left, nested_cell(step_json)},
      {"llmem_score", "", right,
       [](const RowView& row) { return row.result->fits ? row.result->llmem_score() : 0; }},
      {"also", "", left, nested_cell(also_json)},
      {"why_not_higher", "why it is not higher", left, why_of}};
  return kColumns;
}

/// The first row as a command line.
std::string best_line(const PlanRequest& request, const StrategySearch& search) {
  return search.found() ? "the first row: " + command_of(request, search.results.front()) + "\n"
                        : "";
}

/// "FSDP1, FSDP2 and DeepSpeed ZeRO-3": those that fit, once each, in order.
std::string fitting_strategies(const StrategySearch& search) {
  std::vector<std::string> names;
  for (const StrategyResult& result : search.results) {
    const std::string name =
        fmt::format("{} ({})", result.strategy->name, training_kinds()[result.kind].states);
    if (result.fits && std::ranges::find(names, name) == names.end()) {
      names.push_back(name);
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
                      : "what gives up some of it fits: " + fitting);
}

/// Programs that divide the job as a row does.
std::string also_note(const StrategySearch& search) {
  std::string text;
  for (std::size_t i = 0; i < search.results.size(); ++i) {
    const StrategyResult& row = search.results[i];
    if (!row.also.empty()) {
      text += fmt::format("row {}: same split with {}\n", i + 1, fmt::join(row.also, ", "));
    }
  }
  return text;
}

std::string rates_note(const PlanRequest& request) {
  const std::string rates = timing::assumed_rates(request.run.plan.gpu);
  return rates.empty() ? "" : "assumed: " + rates + "\n";
}

/// What the times of the rows take for granted, and how to say otherwise.
std::string assumption_note(const PlanRequest& request) {
  const TimeAssumptions& assumed = request.search.assumed;
  const double network = timing::nominal_network(request.run.plan.gpu, assumed) / kGiga;
  std::string text;
  if (request.gpus > kRanksOfMachine) {
    text += fmt::format("{:g} GB/s from each GPU to other machines (--network)", network);
  }
  if (request.gpus > 1) {
    text += fmt::format("{}tensor-parallel all-reduces {} (--tp-comm-overlap)",
                        text.empty() ? "" : ", ", to_string(assumed.tensor_sums));
  }
  if (shape_of(request.run.plan.model).experts > 0) {
    text += fmt::format("{}tokens among experts: {} (--moe-load)", text.empty() ? "" : ", ",
                        option_called("moe-load").text(request.run.plan));
  }
  if (request.search.pipelines == PipelineRule::beside_full_machines) {
    text += ", pipelines only where tensor parallelism fills a machine (--tensor-first)";
  }
  return text.empty() ? "" : "assumed: " + text + "\n";
}

/// "1, 3, 4"; which rows have `text` for a setting that was given.
std::string rows_with(const OptionWord& setting, const StrategySearch& search) {
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < search.results.size(); ++i) {
    if (option_called(setting.first).text(search.results[i].plan) == setting.second) {
      rows.push_back(i + 1);
    }
  }
  return fmt::format("{}", fmt::join(rows, ", "));
}

std::string settings_note(const PlanRequest& request, const StrategySearch& search) {
  std::string text;
  for (const OptionWord& setting : request.search.fixed.settings) {
    const std::string rows = rows_with(setting, search);
    text += fmt::format("--{} {}: {}; programs without such an option stay as they are\n",
                        setting.first, setting.second, rows.empty() ? "no row" : "rows " + rows);
  }
  return text;
}

std::string search_note(const PlanRequest& request, const StrategySearch& search) {
  return fmt::format(
      "a step of {} sequences (--global-batch) is cut into accum micro-batches of batch sequences; "
      "rows leave {:g} % of the memory free (--margin)\n"
      "order: what training gives up (--allow), then a model of the step's time "
      "(tools/docs/plans.md); speed is relative to the first row\n"
      "{} strategies and layouts with {} variations; {} simulated, the others are slower than the "
      "last row or need more memory than is available\n",
      search.global_batch, 100 * request.search.margin, search.candidates, search.variations,
      search.simulated);
}

json::object words_object(const OptionWords& words) {
  json::object object;
  for (const auto& [name, text] : words) {
    object[name] = text;
  }
  return object;
}

json::object assumptions_json(const PlanRequest& request) {
  const SearchOptions& search = request.search;
  const Gpu& gpu = request.run.plan.gpu;
  json::object assumptions{
      {"network_bytes_per_second", timing::nominal_network(gpu, search.assumed)},
      {"tensor_sums", to_string(search.assumed.tensor_sums)},
      {"pipelines_beside_full_machines_only",
       search.pipelines == PipelineRule::beside_full_machines}};
  if (!timing::has_rates(gpu)) {
    assumptions["rates_of"] = default_gpu().name;
  }
  return assumptions;
}

json::value whole_states_json(const PlanResult& result) {
  return result.whole_states
             ? json::value{{"bytes", result.whole_states->states.count()},
                           {"capacity_bytes", result.whole_states->capacity.count()},
                           {"meaning", states_note(result)}}
             : json::value(nullptr);
}

}  // namespace

// The other axes only where they are used.
std::string sizes_of(const Parallelism& p) {
  return fmt::format("{} x {} x {}{}{}{}{}", p.dp, p.tp, p.pp,
                     model_chunks(p) > 1 ? fmt::format(", {} chunks", p.chunks) : "",
                     p.fsdp.replicas > 1 ? fmt::format(", {} copies", p.fsdp.replicas) : "",
                     p.cp > 1 ? fmt::format(", cp {}", p.cp) : "",
                     p.ep > 1 ? fmt::format(", ep {}", p.ep) : "");
}

Table strategy_table_of(const PlanRequest& request, const PlanResult& result) {
  std::vector<RowView> rows;
  for (const StrategyResult& each : result.simulated->results) {
    rows.push_back({&request, &each, &result.simulated->results.front()});
  }
  return tabulate(fmt::format("By simulation, on {} GPU{} of {}", request.gpus,
                              request.gpus == 1 ? "" : "s", to_iec(request.device)),
                  row_columns(), rows);
}

std::string strategy_notes(const PlanRequest& request, const PlanResult& result) {
  const StrategySearch& search = *result.simulated;
  std::string text = best_line(request, search);
  if (const std::string note = states_note(result); !note.empty()) {
    text += note + "\n";
  }
  text += also_note(search) + settings_note(request, search) + rates_note(request) +
          assumption_note(request) + search_note(request, search);
  for (const std::string& reason : search.left_out) {
    text += "not simulated: " + reason + "\n";
  }
  return text;
}

json::object strategies_json(const PlanRequest& request, const PlanResult& result) {
  const StrategySearch& search = *result.simulated;
  return {{"results", rows_json(strategy_table_of(request, result))},
          {"global_batch", search.global_batch},
          {"margin", request.search.margin},
          {"fixed", words_object(request.search.fixed.chosen)},
          {"settings", words_object(request.search.fixed.settings)},
          {"assumptions", assumptions_json(request)},
          {"states_above_a_gpu", whole_states_json(result)},
          {"not_simulated", words_json(search.left_out)},
          {"candidates", search.candidates},
          {"variations", search.variations},
          {"simulated", search.simulated}};
}

}  // namespace highwater
