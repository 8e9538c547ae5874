// highwater simulate of a plan: its peaks, what they are made of, and whether it fits.
#include <cmath>
#include <ostream>

#include <boost/program_options/value_semantic.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/commands/commands.hpp"
#include "tools/engine/engine.hpp"
#include "tools/engine/engine_comparison.hpp"
#include "tools/options/fleet_options.hpp"
#include "tools/options/formula_option.hpp"
#include "tools/options/memory_options.hpp"
#include "tools/options/plan_options.hpp"
#include "tools/options/plan_source_option.hpp"
#include "tools/options/rank_option.hpp"
#include "tools/reports/replay_output.hpp"
#include "tools/reports/simulate/simulate_report.hpp"
#include "tools/studies/estimates/compared_estimates.hpp"
#include "tools/studies/gate/check_run.hpp"
#include "tools/studies/runs/recorded_answer.hpp"
#include "tools/studies/runs/simulate_run.hpp"
#include "tools/text/progress_line.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

namespace po = boost::program_options;

struct SimulateCommand {
  PlannedRun run;
  OptionWords plan;  ///< what the command line says about it
  MemoryRequest memory;
  OutputFormat format = OutputFormat::table;
  bool find_batch = false;
  bool compares_engines = false;  ///< --engine both: reports on PyTorch's requests
  RankChoice ranks;
  std::vector<const Formula*> reconciled;  ///< closed forms whose difference is taken apart
  bool shows_estimates = false;
  bool fail_on_oom = false;
  std::optional<Bytes> max_reserved;
  FleetRequest fleet;
};

OptionParser simulate_options() {
  OptionParser parser(command("simulate"));
  add_plan_options(parser);
  const auto text = [](const char* name) { return po::value<std::string>()->value_name(name); };
  add_memory_options(parser, "what --gpu leaves to it, otherwise unlimited");
  parser.add()("estimates", "also list the closed forms, as JSON always does")(
      "bridge", text("NAME[,NAME]"),
      "break down the difference to these closed forms; all: every form")(
      "find-batch", "find the largest batch that fits and report on it")(
      "rank", text("R|all|representative"),
      "ranks to simulate: one, all, or one of each kind (default)")(
      "fail-on-oom", "exit with 1 if memory runs out")("max-reserved", text("SIZE"),
                                                       "exit with 1 if peak reserved exceeds SIZE");
  parser.choose("find-batch", {"batch"});
  add_fleet_options(parser);
  parser.add_format();
  return parser;
}

/// Settings that PyTorch would refuse are a mistake of the command line.
void check_settings(const po::variables_map& values, const MemoryRequest& memory) {
  if (memory.alloc_conf) {
    const std::string release = text_option(values, "torch").value_or(Versions{}.torch);
    settings_from_command_line(*memory.alloc_conf, nearest_preset(release));
  }
}

RankChoice read_ranks(const po::variables_map& values, std::vector<std::string>& problems) {
  const std::string given = text_option(values, "rank").value_or("representative");
  if (given == "representative") {
    return {};
  }
  if (given == "all") {
    return {RankChoice::Kind::all};
  }
  return {RankChoice::Kind::one, read_rank(given, ", all or representative", problems).value_or(0)};
}

void check_together(const po::variables_map& values, std::vector<std::string>& problems) {
  const bool has_memory = values.contains("gpu") || values.contains("capacity");
  if (values.contains("memory-fraction") && !has_memory) {
    problems.emplace_back(
        "--memory-fraction is a share of a device's memory; add --gpu or --capacity");
  }
  if (values.contains("find-batch") && values.contains("batch")) {
    problems.emplace_back("--find-batch chooses the batch; omit --batch");
  }
  if (values.contains("find-batch") && !has_memory && !values.contains("memory-limit")) {
    problems.emplace_back(
        "--find-batch needs a memory limit; add --gpu, --capacity or --memory-limit");
  }
}

SimulateCommand read_simulate(const po::variables_map& values, const Arguments& arguments) {
  SimulateCommand result;
  std::vector<std::string> problems;
  result.memory = read_memory_options(values, problems);
  collect_problems(problems, [&] { check_settings(values, result.memory); });
  collect_problems(problems, [&] { result.max_reserved = size_option(values, "max-reserved"); });
  collect_problems(problems, [&] { result.format = output_format(values); });
  collect_problems(problems,
                   [&] { result.fleet = read_fleet_options(values, "simulate", arguments); });
  check_together(values, problems);
  if (values.contains("bridge")) {
    result.reconciled = formula_option(values, problems, "bridge");
  }
  result.ranks = read_ranks(values, problems);
  result.plan = given_plan_options(values);
  const auto check = [&](const TrainingPlan& plan, std::vector<std::string>& wrong) {
    if (result.ranks.kind == RankChoice::Kind::one) {
      check_rank(result.ranks.rank, plan.parallel, wrong);
    }
  };
  result.run = read_plan(values, std::move(problems), PlanUse::generate, check);
  result.compares_engines = result.run.plan.engine == EngineKind::both;
  if (result.compares_engines) {
    result.run.plan.engine = EngineKind::torch;
    result.plan = with_words(result.plan, {{"engine", "torch"}});
  }
  result.find_batch = values.contains("find-batch");
  result.shows_estimates = values.contains("estimates");
  result.fail_on_oom = values.contains("fail-on-oom");
  return result;
}

bool is_for_machines(OutputFormat format) {
  return format == OutputFormat::json || format == OutputFormat::csv;
}

/// Tables without closed forms need none.
bool needs_estimates(const SimulateCommand& command) {
  return is_for_machines(command.format) || command.shows_estimates || !command.reconciled.empty();
}

/// The verdict on unlimited memory names one of them, JSON and CSV list them.
bool needs_gpus(const SimulateCommand& command, const Simulation& simulation) {
  return simulation.fits() && (!simulation.available || is_for_machines(command.format));
}

/// What would make the run fit, or leave a margin that is not thin.
void add_remedies(const SimulateCommand& command, SimulationReport& report) {
  const Simulation& simulation = report.simulation;
  const RemedyQuestion question =
      question_about(command.plan, simulation, command.memory, command.ranks, command.run.sources);
  if (!simulation.fits()) {
    report.remedies = find_remedies(question);
  } else if (simulation.available &&
             is_thin(simulation.replay.result.peak.reserved, *simulation.available)) {
    report.wider = wider_margins(question);
  }
}

/// A plan that older releases refuse has no verdict by them.
std::optional<EarlierVerdict> simulate_earlier(const SimulateCommand& command) {
  const std::optional<EarlierRun>& earlier = command.run.earlier;
  if (!earlier || command.find_batch) {
    return std::nullopt;
  }
  try {
    PlannedRun run = checked_run(earlier->words);
    run.left_out = command.run.left_out;
    return EarlierVerdict{earlier->releases, simulate(run, command.memory)};
  } catch (const UsageErrors&) {
    return std::nullopt;
  }
}

SimulationReport simulate_plan(const SimulateCommand& command) {
  Fleet fleet(command.fleet);
  SimulationReport report;
  PlannedRun run = command.run;
  if (command.find_batch) {
    report.batches = find_largest_batch(run, command.memory, command.ranks, fleet);
    run.plan.batch = report.batches->best.value_or(1);
  }
  report.ranks = simulate_ranks(run, command.memory, command.ranks, fleet);
  fleet.end_of_pieces();
  run.plan.parallel.rank = report.ranks.peaks[report.ranks.worst].ranks.rank;
  report.simulation =
      with_progress("looking at the peak", [&] { return simulate(run, command.memory); });
  report.reconciled = command.reconciled;
  report.shows_estimates = command.shows_estimates;
  if (needs_estimates(command)) {
    report.estimates = with_progress("comparing closed forms",
                                     [&] { return compare_estimates(report.simulation); });
  }
  if (needs_gpus(command, report.simulation)) {
    report.gpus = with_progress("trying GPUs", [&] { return gpus_that_hold(report.simulation); });
  }
  add_remedies(command, report);
  report.assumed = assumption(run.plan);
  report.earlier = simulate_earlier(command);
  if (!command.find_batch) {
    report.spellings = other_spellings(run, command.memory, report.simulation.replay.result.peak);
    report.late = with_late_gpu(run, command.memory, *report.simulation.trace,
                                report.simulation.replay.result.peak);
  }
  if (command.compares_engines) {
    report.engines = with_progress("comparing the engines", [&] {
      return std::make_shared<EngineComparison>(report.simulation.plan);
    });
  }
  return report;
}

/// Absent where no budget was given.
std::optional<BudgetVerdict> judge_plan(const SimulateCommand& command,
                                        const Simulation& simulation) {
  if (!command.fail_on_oom && !command.max_reserved) {
    return std::nullopt;
  }
  BudgetVerdict verdict;
  const ReplayResult& result = simulation.replay.result;
  const std::vector<LeftOutKey> undecided = simulation.undecided();
  if (command.fail_on_oom && !undecided.empty()) {
    verdict.exceeded.push_back("not known whether it fits: simulated " +
                               without_words(outcome_of(simulation), undecided));
  } else if (command.fail_on_oom && !simulation.fits()) {
    verdict.exceeded.push_back(oom_words(result));
  }
  if (command.max_reserved && result.peak.reserved > *command.max_reserved) {
    verdict.exceeded.push_back(
        with_clause(budget_words(budget_of(*command.max_reserved), result.peak.reserved),
                    holders_of_peak(workload_of(simulation))));
  }
  return verdict;
}

/// What only a plan can be asked: a recording has no other batch, and no sizes for formulas.
void require_no_plan(const po::variables_map& values, const SingleRecording& recording,
                     const std::string& why) {
  std::vector<std::string> asked = recording.changed;
  const std::string* const rank = find_word(recording.words, "rank");
  const bool is_other_rank =
      values.contains("rank") && (rank == nullptr || *rank != text_option(values, "rank"));
  for (const char* option : {"find-batch", "estimates", "bridge", "rank"}) {
    if (option == std::string_view("rank") ? is_other_rank : values.contains(option)) {
      asked.emplace_back(option);
    }
  }
  if (!asked.empty()) {
    throw UsageErrors({fmt::format(
        "{}; without a model the recording answers for the program that ran, and not --{}: omit "
        "it, or record other batches and lengths, too, and highwater fit {} ...",
        why, fmt::join(asked, ", --"), recording.file)});
  }
}

RecordedQuestion question_of(const po::variables_map& values, const SingleRecording& recording,
                             const std::string& why) {
  RecordedQuestion question{recording.file, recording.recording, why, recording.program};
  const auto differs = [&](const char* option, const std::optional<std::string>& given) {
    const std::string* const word = find_word(recording.words, option);
    return given && (word == nullptr || *word != *given);
  };
  std::vector<std::string> problems;
  question.memory = read_memory_options(values, problems);
  collect_problems(problems, [&] { check_settings(values, question.memory); });
  if (const auto gpu = text_option(values, "gpu")) {
    collect_problems(problems, [&] { question.gpu = &gpu_called(*gpu); });
    question.is_other_gpu = differs("gpu", gpu);
  }
  question.is_other_memory =
      question.is_other_gpu || differs("capacity", text_option(values, "capacity"));
  if (!differs("alloc-conf", question.memory.alloc_conf)) {
    question.memory.alloc_conf.reset();
  }
  if (!problems.empty()) {
    throw UsageErrors(std::move(problems));
  }
  return question;
}

std::optional<BudgetVerdict> judge_recorded(const po::variables_map& values,
                                            const RecordedAnswer& answer) {
  const auto most = size_option(values, "max-reserved");
  if (!most && !values.contains("fail-on-oom")) {
    return std::nullopt;
  }
  BudgetVerdict verdict;
  const Bytes reserved = answer.heaviest().result.peak.reserved;
  if (values.contains("fail-on-oom") && !answer.fits()) {
    verdict.exceeded.push_back(recorded_verdict(answer));
  }
  if (most && reserved > *most) {
    verdict.exceeded.push_back(budget_words(budget_of(*most), reserved));
  }
  return verdict;
}

/// The answer of a recording whose program cannot be simulated: `why`.
ExitCode run_simulate_recorded(const po::variables_map& values, const SingleRecording& recording,
                               const std::string& why, std::ostream& out) {
  require_no_plan(values, recording, why);
  const OutputFormat format = output_format(values);
  const RecordedAnswer answer = with_progress("replaying the recording", [&] {
    return answer_by_recording(question_of(values, recording, why));
  });
  const auto verdict = judge_recorded(values, answer);
  out << replay_output(answer.replays, format, TimelineKeys::omitted, verdict,
                       RecordedSentences{recorded_verdict(answer), answer.fits(), answer.available,
                                         recorded_limits(answer)});
  if (verdict) {
    enforce(*verdict);
  }
  return ExitCode::ok;
}

/// Why the recorded plan cannot be simulated, whatever else is asked for; empty if it can.
std::string refusal_of_plan(const SingleRecording& recording, const po::variables_map& values) {
  OptionWords words = recording.words;
  if (const auto python = text_option(values, "python")) {
    words.emplace_back("python", *python);
  }
  std::erase_if(words, [](const OptionWord& word) { return find_option(word.first) == nullptr; });
  try {
    checked_run(words);
    return "";
  } catch (const Error& refused) {
    return refused.what();
  }
}

ExitCode run_planned(const SimulateCommand& command, std::ostream& out) {
  SimulationReport report = simulate_plan(command);
  report.budget = judge_plan(command, report.simulation);
  out << simulation_report(report, command.format);
  if (report.budget) {
    enforce(*report.budget);
  }
  return ExitCode::ok;
}

}  // namespace

ExitCode run_simulate_plan(const Arguments& arguments, std::ostream& out) {
  const po::variables_map values = simulate_options().parse(arguments);
  const auto recording = single_recording(values, given_plan_options(values));
  const auto why = recording ? why_no_model(values) : std::nullopt;
  if (why) {
    return run_simulate_recorded(values, *recording, *why, out);
  }
  const bool can_be_replayed = recording && recording->changed.empty();
  std::string refusal;
  try {
    return run_planned(read_simulate(values, arguments), out);
  } catch (const UsageError&) {
    refusal = can_be_replayed ? refusal_of_plan(*recording, values) : "";
    if (refusal.empty()) {
      throw;
    }
  } catch (const InputError& refused) {  // of the engine
    if (!can_be_replayed) {
      throw;
    }
    refusal = refused.what();
  }
  return run_simulate_recorded(
      values, *recording,
      fmt::format("{}: its plan is not simulated: {}", recording->file, refusal), out);
}

}  // namespace highwater
