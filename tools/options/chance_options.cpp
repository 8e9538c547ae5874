#include "tools/options/chance_options.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <memory>

#include <boost/program_options/value_semantic.hpp>
#include <fmt/format.h>

#include "allocator/settings/settings_change.hpp"
#include "tools/options/memory_options.hpp"
#include "tools/options/plan_options.hpp"
#include "tools/options/workload_options.hpp"
#include "tools/text/safe_text.hpp"
#include "traces/formats/bytes/byte_source.hpp"
#include "traces/formats/bytes/line_reader.hpp"
#include "traces/parse_text.hpp"
#include "workloads/plan/rules/plan_problems.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

namespace po = boost::program_options;

constexpr std::size_t kUsualSteps = 1000;
constexpr std::string_view kNoMax =
    "a length has no bound; add max=N, where the tokenizer cuts what is longer";

/// Options that make a question about one run one about many.
constexpr std::array<std::string_view, 4> kChanceOptions{"lengths", "runs", "moe-loads",
                                                         "event-lags"};

std::int64_t length_in(std::string_view word, const std::string& path, std::size_t line) {
  const auto length = parse_number<std::int64_t>(word);
  if (!length || *length < 1) {
    throw InputError(path, fmt::format("line {}", line),
                     fmt::format("'{}' is not a length", printable(word.substr(0, 40))),
                     "write one number of tokens, 1 or more, on each line");
  }
  return *length;
}

/// Line by line: what has no lines, or no numbers in them, is refused before it is all read.
std::vector<std::int64_t> lengths_in(const std::string& path) {
  constexpr std::size_t kMostLengths = 100'000'000;
  const std::unique_ptr<ByteSource> source = open_source(path);
  LineReader lines(*source);
  std::vector<std::int64_t> lengths;
  while (const auto word = lines.next_filled()) {
    if (lengths.size() == kMostLengths) {
      throw InputError(path, fmt::format("line {}", lines.number()),
                       fmt::format("more than {} lengths", kMostLengths),
                       "give a sample of the dataset");
    }
    lengths.push_back(length_in(*word, path, lines.number()));
  }
  return lengths;
}

LengthSource lengths_of(const std::string& text) {
  if (!names_distribution(text)) {
    LengthSource source;
    std::error_code unreadable;  // a text too long for a name is none
    if (std::filesystem::exists(text, unreadable)) {
      source.list = lengths_in(text);
    }
    if (source.list.empty()) {
      throw UsageError(fmt::format(
          "--lengths {}: neither a file with a length on each line nor a distribution; write "
          "uniform:LO..HI or lognormal:median=M,sigma=S,max=N, for example",
          text));
    }
    return source;
  }
  DistributionReading reading = read_distribution(text, 1);
  if (reading.value && !reading.value->largest()) {
    reading = {std::nullopt, std::string(kNoMax)};
  }
  if (!reading.value) {
    throw UsageError(fmt::format("--lengths {}: {}", text, reading.complaint));
  }
  return {.distribution = std::move(reading.value), .list = {}};
}

Distribution distribution_option(const std::string& option, std::string_view text, double least) {
  DistributionReading reading = read_distribution(text, least);
  if (!reading.value) {
    throw UsageError(fmt::format("--{} {}: {}", option, text, reading.complaint));
  }
  return *reading.value;
}

void read_loads(const std::string& text, ChanceQuestion& question) {
  const std::size_t colon = std::min(text.find(':'), text.size() - 1);
  const std::string kind = text.substr(0, colon);
  if (kind != "busiest" && kind != "zipf") {
    throw UsageError(
        fmt::format("--moe-loads {}: write busiest:DISTRIBUTION or zipf:DISTRIBUTION, as in "
                    "busiest:uniform:1..3",
                    text));
  }
  question.load = kind == "zipf" ? LoadKind::zipf : LoadKind::busiest;
  question.loads_text = text;
  question.loads = distribution_option("moe-loads", text.substr(colon + 1), kind == "zipf" ? 0 : 1);
}

std::size_t count_option(const po::variables_map& values, const std::string& option,
                         std::size_t usual) {
  const auto text = text_option(values, option);
  const auto count = text ? parse_number<std::size_t>(*text) : usual;
  if (!count || *count == 0 || *count > 100'000'000) {
    throw UsageError(fmt::format("--{} {}: not a number from 1 to 100000000", option, *text));
  }
  return *count;
}

std::uint64_t seed_option(const po::variables_map& values) {
  const auto text = text_option(values, "seed");
  const auto seed = text ? parse_number<std::uint64_t>(*text) : 0;
  if (!seed) {
    throw UsageError(fmt::format("--seed {}: not a whole number from 0", *text));
  }
  return *seed;
}

/// --set of what makes batches is this command's own; the rest is that of sweep.
void read_sets(const po::variables_map& values, ChanceQuestion& question,
               std::vector<std::string>& problems) {
  Arguments others;
  for (const std::string& text :
       values.contains("set") ? values["set"].as<Arguments>() : Arguments{}) {
    const std::size_t equals = text.find('=');
    const std::string key = text.substr(0, equals);
    if (!is_batching_key(key) || equals == std::string::npos) {
      others.push_back(text);
      continue;
    }
    SweepAxis axis{key, AxisKind::plan, split_options(text.substr(equals + 1))};
    for (const std::string& value : axis.values) {
      collect_problems(problems, [&] {
        set_batching(key, value, question.strategy, question.pad_to_multiple_of);
      });
    }
    question.batching.push_back(std::move(axis));
  }
  question.axes = read_axes(others, Swept::plan, problems);
  std::ranges::move(wrong_plan_values(question.axes), std::back_inserter(problems));
  if (!question.axes.empty() || !question.batching.empty()) {
    question.cases = ChanceCases::product;
  }
}

void read_batching(const po::variables_map& values, ChanceQuestion& question,
                   std::vector<std::string>& problems) {
  question.strategy = SamplingStrategy::random;
  question.pad_to_multiple_of = 1;
  for (const char* const key : {"pad-to-multiple-of", "train-sampling-strategy"}) {
    if (const auto text = text_option(values, key)) {
      collect_problems(problems, [&] {
        set_batching(key, *text, question.strategy, question.pad_to_multiple_of);
      });
    }
  }
}

void read_draws(const po::variables_map& values, ChanceQuestion& question,
                std::vector<std::string>& problems) {
  if (const auto text = text_option(values, "lengths")) {
    question.lengths_text = *text;
    collect_problems(problems, [&] { question.lengths = lengths_of(*text); });
  }
  if (const auto text = text_option(values, "moe-loads")) {
    collect_problems(problems, [&] { read_loads(*text, question); });
  }
  if (const auto text = text_option(values, "event-lags")) {
    question.lags_text = *text;
    collect_problems(problems,
                     [&] { question.lags = distribution_option("event-lags", *text, 0); });
  }
}

/// A recording is what it was.
void check_file(const po::variables_map& values, std::vector<std::string>& problems) {
  if (!values.contains("file")) {
    return;
  }
  if (values.contains("event-lags")) {
    problems.emplace_back(
        "--event-lags draws for a plan (--model); events of a recorded FILE complete when they "
        "did");
  }
  problems.emplace_back(
      "a recorded FILE has the lengths that its run had; draw them for a plan (--model, or --from "
      "FILE for the plan that a recording carries)");
  throw UsageErrors(std::move(problems));
}

void check_draws(const po::variables_map& values, const ChanceQuestion& question,
                 std::vector<std::string>& problems) {
  const bool has_list = question.lengths && !question.lengths->list.empty();
  if (!values.contains("lengths") && !values.contains("moe-loads") &&
      !values.contains("event-lags")) {
    problems.emplace_back(
        "nothing is left to chance; add --lengths FILE|DISTRIBUTION, --moe-loads or --event-lags");
  }
  if (values.contains("lengths") && values.contains("seq")) {
    problems.emplace_back("--lengths draws the lengths that --seq gives; omit one of them");
  }
  if ((question.strategy == SamplingStrategy::sequential ||
       question.strategy == SamplingStrategy::replacement) &&
      question.lengths && !has_list) {
    problems.emplace_back(
        "--train-sampling-strategy: sequential and replacement are orders of a FILE of --lengths; "
        "what is drawn has none");
  }
}

/// What is wrong with the plan at its shortest length only, as a number of tokens that ranks share.
void check_shortest(const ChanceQuestion& question, TrainingPlan plan,
                    std::vector<std::string>& problems) {
  const std::vector<std::string> known = plan_problems(plan);
  plan.seq = {batch_range(question, question.pad_to_multiple_of).shortest};
  for (const std::string& problem : plan_problems(plan)) {
    if (std::ranges::find(known, problem) == known.end()) {
      problems.push_back(
          fmt::format("--lengths {}: as short as {}: {}; --pad-to-multiple-of may help",
                      question.lengths_text, plan.seq.front(), problem));
    }
  }
}

/// What is wrong with a load that is drawn, at its greatest.
void check_loads(const ChanceQuestion& question, TrainingPlan plan,
                 std::vector<std::string>& problems) {
  const std::vector<std::string> known = plan_problems(plan);
  plan.moe_load = {};
  (question.load == LoadKind::zipf ? plan.moe_load.zipf : plan.moe_load.busiest) =
      question.loads->largest().value_or(1);
  for (const std::string& problem : plan_problems(plan)) {
    if (std::ranges::find(known, problem) == known.end()) {
      problems.push_back(fmt::format("--moe-loads {}: {}", question.loads_text, problem));
    }
  }
}

void check_plan(const ChanceQuestion& question, const TrainingPlan& plan,
                std::vector<std::string>& problems) {
  if (plan.engine == EngineKind::torch || plan.engine == EngineKind::both) {
    problems.emplace_back(
        "what is drawn at random is simulated by the model only; use --engine model, or record "
        "runs "
        "of the script (highwater record)");
  }
  if (!question.lengths && plan.seq.size() > 1) {
    problems.emplace_back("--seq gives several lengths; give one, or draw them with --lengths");
  }
  if (question.lengths) {
    check_shortest(question, plan, problems);
  }
  if (question.loads) {
    check_loads(question, plan, problems);
  }
}

/// The plan is read with the greatest length that can be drawn.
po::variables_map with_longest(po::variables_map values, const ChanceQuestion& question) {
  if (question.lengths && !values.contains("seq")) {
    const std::int64_t longest = batch_range(question, question.pad_to_multiple_of).longest;
    values.insert({"seq", po::variable_value(boost::any(std::to_string(longest)), false)});
  }
  return values;
}

}  // namespace

void add_chance_options(OptionParser& parser) {
  const auto text = [](const char* name) { return po::value<std::string>()->value_name(name); };
  parser.add()("lengths", text("FILE|D"),
               "tokens of each sample: a FILE with one length on each line, or a distribution: "
               "uniform:LO..HI, lognormal:median=M,sigma=S,max=N, normal:mean=M,sd=S,max=N, "
               "geometric:mean=M,max=N, zipf:exponent=S,max=N")(
      "runs", text("N"), "runs that differ by chance; default 1000")(
      "seed", text("N"), "the same seed gives the same runs; default 0")(
      "pad-to-multiple-of", text("N"),
      "a batch is padded to its longest sample, and that to a multiple of N; default 1")(
      "train-sampling-strategy", text("S"),
      "the order of samples: random (default; of a FILE each once an epoch), replacement, "
      "sequential, group_by_length")(
      "moe-loads", text("KIND:D"),
      "the load of experts in each step: busiest:D or zipf:D, with a distribution of the number "
      "that --moe-load takes")(
      "event-lags", text("D"),
      "how late events of other streams complete in each run: a distribution of --event-lag")(
      "set", po::value<Arguments>()->composing()->value_name("KEY=V1,V2,..."),
      "also try these values with the same draws, as sweep does; repeatable (cross product). KEY: "
      "as in sweep, or pad-to-multiple-of or train-sampling-strategy")(
      "compare", "also try the settings that can change something and paddings, each alone");
  parser.alias("group-by-length", {"train-sampling-strategy", "group_by_length"});
}

ChanceQuestion read_chance_question(const po::variables_map& values) {
  ChanceQuestion question;
  std::vector<std::string> problems;
  check_file(values, problems);
  question.memory = read_memory_options(values, problems);
  read_sets(values, question, problems);
  read_batching(values, question, problems);
  read_draws(values, question, problems);
  check_draws(values, question, problems);
  collect_problems(problems, [&] { question.runs = count_option(values, "runs", 1000); });
  collect_problems(problems, [&] { question.steps = count_option(values, "steps", kUsualSteps); });
  collect_problems(problems, [&] { question.seed = seed_option(values); });
  if (values.contains("compare")) {
    question.cases = ChanceCases::one_by_one;
    if (values.contains("set")) {
      problems.emplace_back("--compare chooses what is tried, and --set names it; use one of them");
    }
  }
  const po::variables_map given = with_longest(values, question);
  question.words = given_plan_options(given);
  const auto check = [&](const TrainingPlan& plan, std::vector<std::string>& wrong) {
    check_plan(question, plan, wrong);
  };
  question.run = read_plan(given, std::move(problems), PlanUse::generate, check);
  if (question.run.plan.engine == EngineKind::torch) {
    throw UsageError(
        "this plan is carried out by torch, and what is drawn at random by the model only; record "
        "runs of the script (highwater record)");
  }
  return question;
}

bool asks_about_chance(const Arguments& arguments) {
  return std::ranges::any_of(arguments, [](const std::string& argument) {
    const std::string_view name = std::string_view(argument).substr(0, argument.find('='));
    return name.starts_with("--") &&
           std::ranges::find(kChanceOptions, name.substr(2)) != kChanceOptions.end();
  });
}

}  // namespace highwater
