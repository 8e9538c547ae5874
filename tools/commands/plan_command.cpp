// highwater plan: which strategy and which batch fit; with --for, which value of a field.
#include <algorithm>
#include <ostream>

#include <boost/program_options/value_semantic.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/commands/commands.hpp"
#include "tools/commands/scaled_command.hpp"
#include "tools/engine/engine.hpp"
#include "tools/html/frontier_page.hpp"
#include "tools/options/fleet_options.hpp"
#include "tools/options/memory_options.hpp"
#include "tools/options/plan_options.hpp"
#include "tools/options/solving/margin_option.hpp"
#include "tools/options/solving/solve_options.hpp"
#include "tools/reports/estimates/llmem_tables.hpp"
#include "tools/reports/estimates/rates_report.hpp"
#include "tools/reports/plan_report.hpp"
#include "tools/reports/solving/solve_report.hpp"
#include "traces/formats/bytes/byte_sink.hpp"
#include "traces/parse_text.hpp"
#include "workloads/plan/model/other_model.hpp"
#include "workloads/plan/rules/plan_problems.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/step_time/machine.hpp"

namespace highwater {
namespace {

namespace po = boost::program_options;

constexpr std::int64_t kMostGpus = 1 << 20;
constexpr std::int64_t kMostSequences = 1 << 24;
constexpr std::int64_t kMostRows = 1000;
constexpr double kGiga = 1e9;
constexpr double kFastestNetwork = 1e5;  ///< GB/s

/// What a configuration says of these does not bind the search; what is given beside it does.
std::vector<std::string> chosen_by_plan() {
  std::vector<std::string> names{"framework", "batch", "offload", "no-sync"};
  for (const Option& option : option_table()) {
    if (option.group == OptionGroup::data_parallel || option.group == OptionGroup::model_parallel) {
      names.emplace_back(option.name);
    }
  }
  return names;
}

OptionParser plan_options() {
  OptionParser parser(command("plan"));
  const auto text = [](const char* name) { return po::value<std::string>()->value_name(name); };
  parser.add()("gpus", text("N"), "GPUs to spread the job over; default 1")(
      "capacity", text("SIZE"), "memory of one GPU; default: that of --gpu")(
      "alloc-conf", text("S"), "settings as in PYTORCH_CUDA_ALLOC_CONF, for the simulation")(
      "global-batch", text("N"),
      "sequences of a step; default: 4 Mi tokens, at most 128 Ki per GPU")(
      "margin", text("PERCENT"), "memory that a row leaves free; default 3 %")(
      "allow", text("KIND"),
      "most that training gives up, from full to 4-bit; default: full, or else all")(
      "only", text("NAME"), "only strategies with NAME in their name")("rows", text("N"),
                                                                       "rows to find; default 10")(
      "tensor-first", "pipelines only where tensor parallelism fills a machine")(
      "tp-comm-overlap",
      "time: Megatron-Core overlaps tensor-parallel all-reduces with matrix products")(
      "network", text("GB/S"), "time: of a GPU to other machines; default: that of --gpu's DGX")(
      "llmem-base", text("SIZE"),
      "LLMem's m_base, the memory in use before training; default 1100 MiB")(
      "for", text("FIELD"),
      "solve a plan, given as to simulate, for a field: highwater solve --help")(
      "formulas-only", "skip the simulations: only LLMem's Algorithm 1")(
      "published", "recompute the LLMem paper's Tables 2 and 3 next to the printed figures")(
      "published-rates", "published throughputs next to the model of time, and what it misses");
  add_plan_options(parser);
  parser.choose("", chosen_by_plan());
  parser.add_format();
  add_fleet_options(parser);
  return parser;
}

struct PlanCommand {
  PlanRequest request;
  FleetRequest fleet;
  OutputFormat format = OutputFormat::table;
};

/// The number that `option` gives, from 1 to `most`; absent if it is not given or wrong.
std::optional<std::int64_t> read_count(const po::variables_map& values, const char* option,
                                       std::int64_t most, std::vector<std::string>& problems) {
  const auto given = text_option(values, option);
  if (!given) {
    return std::nullopt;
  }
  const auto number = parse_number<std::int64_t>(*given);
  if (!number || *number < 1 || *number > most) {
    problems.push_back(
        fmt::format("--{} {}: out of range; use a number from 1 to {}", option, *given, most));
    return std::nullopt;
  }
  return number;
}

std::vector<std::string> words_of_kinds() {
  std::vector<std::string> words;
  for (const TrainingKind& kind : training_kinds()) {
    words.emplace_back(kind.word);
  }
  return words;
}

void read_kinds(const po::variables_map& values, SearchOptions& search,
                std::vector<std::string>& problems) {
  if (const auto word = text_option(values, "allow")) {
    search.most_given_up = find_training_kind(*word);
    if (!search.most_given_up) {
      problems.push_back(fmt::format("--allow {}: unknown kind of training; use one of {}", *word,
                                     fmt::join(words_of_kinds(), ", ")));
    }
  }
  search.only = text_option(values, "only").value_or("");
  if (strategies_called(search.only).empty()) {
    problems.push_back(
        fmt::format("--only {}: no strategy is called that; use a part of a name, "
                    "such as FSDP2, Megatron or ZeRO-3",
                    search.only));
  }
}

void read_search(const po::variables_map& values, SearchOptions& search,
                 std::vector<std::string>& problems) {
  search.global_batch = read_count(values, "global-batch", kMostSequences, problems);
  if (search.global_batch && values.contains("grad-accum")) {
    problems.emplace_back(
        "--global-batch with --grad-accum: the first says how many micro-batches a step has; omit "
        "one of them");
  }
  search.rows = static_cast<std::size_t>(read_count(values, "rows", kMostRows, problems)
                                             .value_or(static_cast<std::int64_t>(search.rows)));
  search.margin = read_margin(values, kUsualMargin, problems);
  read_kinds(values, search, problems);
}

/// Gigabytes per second, of a GPU to other machines.
std::optional<double> read_network(const po::variables_map& values,
                                   std::vector<std::string>& problems) {
  const auto given = text_option(values, "network");
  if (!given) {
    return std::nullopt;
  }
  const auto number = parse_number<double>(*given);
  if (!number || !(*number > 0 && *number <= kFastestNetwork)) {
    problems.push_back(fmt::format(
        "--network {}: not a rate; use gigabytes per second and GPU, such as 50", *given));
    return std::nullopt;
  }
  return *number * kGiga;
}

void read_assumptions(const po::variables_map& values, SearchOptions& search,
                      std::vector<std::string>& problems) {
  search.assumed.network = read_network(values, problems);
  search.assumed.tensor_sums =
      values.contains("tp-comm-overlap") ? TensorSums::beside_products : TensorSums::waited_for;
  search.pipelines =
      values.contains("tensor-first") ? PipelineRule::beside_full_machines : PipelineRule::any;
}

/// What the search chooses by its rows, whose names --only knows.
void refuse_programs(const po::variables_map& values, std::vector<std::string>& problems) {
  for (const char* chosen : {"framework", "tp-kind", "pp-schedule"}) {
    if (values.contains(chosen)) {
      problems.push_back(
          fmt::format("--{}: plan compares programs; omit it, or name those that "
                      "should be compared (--only NAME)",
                      chosen));
    }
  }
}

/// Sizes that are given hold for LLMem's groups, too.
void read_fixed(const po::variables_map& values, PlanRequest& request,
                std::vector<std::string>& problems) {
  FixedOptions& fixed = request.search.fixed;
  fixed = fixed_options(given_plan_options(values), problems);
  refuse_programs(values, problems);
  if (const auto wrong = why_not_divided(fixed, request.gpus)) {
    problems.push_back(*wrong);
  }
  request.tp = fixed_size(fixed, "tp").value_or(usual_tensor_parallel_group(request.gpus));
}

/// What says nothing about how the job is divided.
OptionWords words_of_job(const po::variables_map& values) {
  OptionWords words = given_plan_options(values);
  std::erase_if(words, [](const OptionWord& word) {
    return is_of_division(option_called(word.first)) && word.first != "checkpoint";
  });
  return words;
}

void read_sizes(const po::variables_map& values, PlanCommand& result,
                std::vector<std::string>& problems) {
  PlanRequest& request = result.request;
  try {
    result.format = output_format(values);
    request.base = size_option(values, "llmem-base").value_or(kLlmemBase);
    request.device = size_option(values, "capacity").value_or(request.run.plan.gpu.total_memory);
    request.memory.alloc_conf = text_option(values, "alloc-conf");
  } catch (const UsageError& error) {
    problems.emplace_back(error.what());
  }
  if (!values.contains("gpu") && !values.contains("capacity")) {
    problems.emplace_back("plan needs a memory limit; add --gpu or --capacity");
  }
}

PlanCommand parse_plan(const po::variables_map& values, const Arguments& arguments) {
  PlanCommand result;
  std::vector<std::string> problems;
  result.request.gpus =
      static_cast<int>(read_count(values, "gpus", kMostGpus, problems).value_or(1));
  read_search(values, result.request.search, problems);
  read_assumptions(values, result.request.search, problems);
  read_fixed(values, result.request, problems);
  result.request.run = read_run(words_of_job(values), problems);
  result.request.run.plan.parallel = {};
  result.request.model = text_option(values, "model").value_or("");
  read_sizes(values, result, problems);
  collect_problems(problems, [&] { result.fleet = read_fleet_options(values, "plan", arguments); });
  result.request.simulates = !values.contains("formulas-only");
  if (problems.empty()) {
    problems = plan_problems(result.request.run.plan);
    if (is_other(result.request.run.plan.model.config)) {  // each of the strategies is PyTorch's
      choose_engine(result.request.run.plan, problems);
    }
  }
  if (!problems.empty()) {
    throw UsageErrors(std::move(problems));
  }
  add_source_facts(values, result.request.run);
  return result;
}

/// A program of `fit` has integers for fields.
Arguments with_find(const ScaledArguments& scaled) {
  Arguments others;
  for (const std::string& word : scaled.others) {
    others.push_back(word == "--for"              ? "--find"
                     : word.starts_with("--for=") ? "--find=" + word.substr(6)
                                                  : word);
  }
  return others;
}

}  // namespace

/// The plan, and whose rates its times are where it has none of its own.
std::string page_heading(const TrainingPlan& plan) {
  const std::string rates = timing::assumed_rates(plan.gpu);
  return run_summary(plan) + (rates.empty() ? "" : "; " + rates);
}

ExitCode run_solve(const Arguments& arguments, std::ostream& out) {
  if (const auto scaled = scaled_arguments(arguments)) {
    return run_simulate_scaled({scaled->program, with_find(*scaled)}, out);
  }
  OptionParser parser(command("solve"));
  add_solve_options(parser, arguments);
  parser.add_format();
  const auto values = parser.parse(arguments);
  const OutputFormat format = output_format(values);
  const SolveQuestion question = read_solve_question(values);
  SolveReport report{solve_plan(question.request), question.model};
  std::vector<std::string>& notes = report.result.run.notes;
  notes.insert(notes.begin(), question.notes.begin(), question.notes.end());
  if (question.html) {
    write_text(*open_sink(*question.html),
               frontier_page(*report.result.frontier, page_heading(report.result.run.plan)));
  }
  out << solve_report(report, format);
  return ExitCode::ok;
}

/// Tables of published figures are not cut into pieces.
void check_no_pieces(const po::variables_map& values) {
  for (const char* const option : {"shard", "output", "journal", "resume", "piece-times"}) {
    if (values.contains(option)) {
      throw UsageError(fmt::format(
          "--{} applies to a search; tables of published figures are computed at once; omit it",
          option));
    }
  }
}

ExitCode run_plan(const Arguments& arguments, std::ostream& out) {
  if (asks_to_solve(arguments)) {
    return run_solve(arguments, out);
  }
  const po::variables_map values = plan_options().parse(arguments);
  if (values.contains("published")) {
    check_no_pieces(values);
    out << llmem_tables_report(output_format(values));
    return ExitCode::ok;
  }
  if (values.contains("published-rates")) {
    check_no_pieces(values);
    out << rates_report(output_format(values));
    return ExitCode::ok;
  }
  const PlanCommand command = parse_plan(values, arguments);
  Fleet fleet(command.fleet);
  const PlanResult result = search_plan(command.request, fleet);
  out << plan_report(command.request, result, command.format);
  return ExitCode::ok;
}

}  // namespace highwater
