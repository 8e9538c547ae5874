#include "tools/reports/plan_rows.hpp"

#include <algorithm>
#include <cmath>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/reports/plan_line.hpp"
#include "tools/studies/plan_search/memory_trial.hpp"
#include "tools/studies/plan_search/row_reasons.hpp"
#include "tools/studies/rates/published_rates.hpp"
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

/// Of a plan that asks for adapters, full training is theirs.
std::string_view states_of(const StrategyResult& result) {
  const bool has_adapters = result.kind == 0 && trains_adapters(result.plan);
  return has_adapters ? (result.plan.peft.empty() ? "LoRA" : "adapters")
                      : training_kinds()[result.kind].states;
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

/// Of each GPU and second, by the model of time.
double tokens_of(const RowView& row) {
  return tokens_per_gpu(row.plan(), speed_of(*row.result));
}

double least_tokens(const RowView& row) {
  return tokens_of(row) * usual_shares(row.plan()).least;
}

double most_tokens(const RowView& row) {
  return tokens_of(row) * usual_shares(row.plan()).most;
}

/// Two figures: a rate is not known better than the runs from which its interval comes.
std::string rounded_rate(double rate) {
  if (!(rate > 0)) {
    return "0";
  }
  const double unit = std::pow(10, std::floor(std::log10(rate)) - 1);
  return fmt::format("{:.{}f}", std::round(rate / unit) * unit, unit < 1 ? 1 : 0);
}

Cell tokens_cell(const RowView& row) {
  return if_fits(row, tokens_of(row),
                 rounded_rate(least_tokens(row)) + " to " + rounded_rate(most_tokens(row)), "");
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

/// A loss that the search chose is told beside it.
std::string checkpoint_of(const RowView& row) {
  const bool is_chosen = row.plan().loss.kind != row.request->run.plan.loss.kind;
  return option_called("checkpoint").text(row.plan()) +
         (is_chosen && fuses_head(row.plan().loss.kind) ? ", fused loss" : "");
}

std::string why_of(const RowView& row) {
  return why_not_higher(*row.result, *row.first);
}

const Columns<RowView>& row_columns() {
  using enum Align;
  static const Columns<RowView> kColumns{
      {"strategy", "strategy", left, [](const RowView& row) { return row.result->strategy->name; }},
      {"states", "states", left, [](const RowView& row) { return states_of(*row.result); }},
      {"plan", "", left, nested_cell([](const RowView& row) { return plan_json(row.plan()); })},
      {"command", "", left, nested_cell([](const RowView& row) {
         return json::value(command_of(*row.request, *row.result));
       })},
      {"fits", "", left, [](const RowView& row) { return row.result->fits; }},
      {"", "dp x tp x pp", left, [](const RowView& row) { return sizes_of(row.plan().parallel); }},
      {"", "checkpoint", left, [](const RowView& row) { return checkpoint_of(row); }},
      {"", "accum", right, [](const RowView& row) { return row.plan().grad_accum; }},
      {"", "batch", right, batch_cell},
      {"peak_reserved_bytes", "peak reserved", right,
       [](const RowView& row) { return row.result->peak; }},
      {"capacity_bytes", "", right, [](const RowView& row) { return row.result->capacity; }},
      {"tokens_per_second_per_gpu", "tokens/s/GPU", right, tokens_cell},
      {"least_tokens_per_second_per_gpu", "", right, least_tokens},
      {"most_tokens_per_second_per_gpu", "", right, most_tokens},
      {"sequences_per_second", "speed", right, speed_cell},
      {"step", "", left, nested_cell(step_json)},
      {"llmem_score", "", right,
       [](const RowView& row) { return row.result->fits ? row.result->llmem_score() : 0; }},
      {"also", "", left, nested_cell(also_json)},
      {"why_not_higher", "why it is not higher", left, why_of}};
  return kColumns;
}

/// One number or word in each, for spreadsheets.
const Columns<RowView>& csv_columns() {
  using enum Align;
  static const Columns<RowView> kColumns{
      {"", "strategy", left, [](const RowView& row) { return row.result->strategy->name; }},
      {"", "states", left, [](const RowView& row) { return states_of(*row.result); }},
      {"", "fits", left, [](const RowView& row) { return row.result->fits; }},
      {"", "dp", right, [](const RowView& row) { return row.plan().parallel.dp; }},
      {"", "tp", right, [](const RowView& row) { return row.plan().parallel.tp; }},
      {"", "pp", right, [](const RowView& row) { return row.plan().parallel.pp; }},
      {"", "cp", right, [](const RowView& row) { return row.plan().parallel.cp; }},
      {"", "ep", right, [](const RowView& row) { return row.plan().parallel.ep; }},
      {"", "etp", right, [](const RowView& row) { return expert_tp(row.plan().parallel); }},
      {"", "checkpoint", left, checkpoint_of},
      {"", "batch", right, [](const RowView& row) { return row.plan().batch; }},
      {"", "grad_accum", right, [](const RowView& row) { return row.plan().grad_accum; }},
      {"", "peak_reserved_bytes", right, [](const RowView& row) { return row.result->peak; }},
      {"", "capacity_bytes", right, [](const RowView& row) { return row.result->capacity; }},
      {"", "tokens_per_second_per_gpu", right, tokens_of},
      {"", "least_tokens_per_second_per_gpu", right, least_tokens},
      {"", "most_tokens_per_second_per_gpu", right, most_tokens},
      {"", "why_not_higher", left, why_of},
      {"", "command", left,
       [](const RowView& row) { return command_of(*row.request, *row.result); }}};
  return kColumns;
}

std::vector<RowView> row_views(const PlanRequest& request, const PlanResult& result) {
  std::vector<RowView> rows;
  for (const StrategyResult& each : result.simulated->results) {
    rows.push_back({&request, &each, &result.simulated->results.front()});
  }
  return rows;
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
    const std::string name = fmt::format("{} ({})", result.strategy->name, states_of(result));
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
      "a smaller batch or a shorter sequence does not make all states fit on one GPU: "
      "parameters, gradients and optimizer states alone take {} of {}; {}",
      to_iec(result.whole_states->states), to_iec(result.whole_states->capacity),
      fitting.empty() ? "more GPUs (--gpus) divide them, and simulate names what else would help"
                      : "what keeps less there fits: " + fitting);
}

/// Where nothing fits: how far away the nearest row is, and what would bring it nearer.
std::string nothing_fits_note(const PlanRequest& request, const StrategySearch& search) {
  if (search.found()) {
    return "";
  }
  if (search.results.empty()) {
    return search.candidates == 0
               ? "no row is left of what is asked for; the reasons are below\n"
               : "nothing fits, and no row could be simulated to its end; the reasons are below\n";
  }
  const StrategyResult& nearest = search.results.front();
  const double free = request.search.margin;
  return fmt::format(
      "nothing fits: what needs least is {} ({}), which needs {} per GPU, {} more than the {} that "
      "rows may take ({} for the allocator, {:g} % of it left free); try more GPUs (--gpus), GPUs "
      "with more memory (--gpu) or shorter sequences (--seq)\n",
      nearest.strategy->name, sizes_of(nearest.plan.parallel), to_iec(nearest.peak),
      to_iec(nearest.peak - std::min(nearest.peak, without_margin(nearest.capacity, free))),
      to_iec(without_margin(nearest.capacity, free)), to_iec(nearest.capacity), 100 * free);
}

/// What --precision means in rows whose states are wider.
std::string precision_note(const PlanRequest& request, const StrategySearch& search) {
  const Precision asked = request.run.plan.precision;
  const bool is_plain_half = model_dtype(asked) != DType::fp32;
  const bool has_wide_states =
      std::ranges::any_of(search.results, [](const StrategyResult& row) { return row.kind == 0; });
  return !is_plain_half || !has_wide_states || trains_adapters(request.run.plan)
             ? ""
             : fmt::format(
                   "--precision {}: rows with fp32 states compute in it and keep parameters and "
                   "moments in fp32, as mixed precision does; --allow 16-bit adds rows that keep "
                   "all in 16 bits\n",
                   option_called("precision").text(request.run.plan));
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

/// Whose rates the times have; empty: those of the GPU that is named.
std::string whose_rates(const PlanRequest& request) {
  return request.run.gpu_named
             ? timing::assumed_rates(request.run.plan.gpu)
             : fmt::format("no GPU is named (--gpu), so that rates are those of {}",
                           request.run.plan.gpu.name);
}

/// Where rates come from, and how far they may be off.
std::string rates_note(const PlanRequest& request) {
  const UsualShares shares = usual_shares(request.run.plan);
  const std::string whose = whose_rates(request);
  return fmt::format(
      "tokens/s/GPU: {:.0f} to {:.0f} % of the model of time, as {} published runs of {} reached "
      "(plan --published-rates){}\n",
      100 * shares.least, 100 * shares.most, shares.runs, shares.kind,
      whose.empty() ? "" : "; " + whose);
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
  if (!request.run.gpu_named || !timing::has_rates(gpu)) {
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
  return fmt::format("{} x {} x {}{}{}{}{}{}", p.dp, p.tp, p.pp,
                     model_chunks(p) > 1 ? fmt::format(", {} chunks", p.chunks) : "",
                     p.fsdp.replicas > 1 ? fmt::format(", {} copies", p.fsdp.replicas) : "",
                     p.cp > 1 ? fmt::format(", cp {}", p.cp) : "",
                     p.ep > 1 ? fmt::format(", ep {}", p.ep) : "",
                     expert_tp(p) != p.tp ? fmt::format(", etp {}", expert_tp(p)) : "");
}

Table strategy_table_of(const PlanRequest& request, const PlanResult& result) {
  return tabulate(fmt::format("By simulation, on {} GPU{} of {}", request.gpus,
                              request.gpus == 1 ? "" : "s", to_iec(request.device)),
                  row_columns(), row_views(request, result));
}

Table csv_table_of(const PlanRequest& request, const PlanResult& result) {
  return tabulate("", csv_columns(), row_views(request, result));
}

std::string strategy_notes(const PlanRequest& request, const PlanResult& result) {
  const StrategySearch& search = *result.simulated;
  std::string text = best_line(request, search) + nothing_fits_note(request, search);
  if (const std::string note = states_note(result); !note.empty()) {
    text += note + "\n";
  }
  text += also_note(search) + settings_note(request, search) + precision_note(request, search) +
          rates_note(request) + assumption_note(request) + search_note(request, search);
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
