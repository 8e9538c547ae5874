// highwater phases: programs that take turns in one process, cycle by cycle.
#include <ostream>

#include <boost/program_options/value_semantic.hpp>
#include <fmt/format.h>

#include "tools/commands/commands.hpp"
#include "tools/options/memory_options.hpp"
#include "tools/options/phases/phases_file.hpp"
#include "tools/options/plan_options.hpp"
#include "tools/reports/phases/phases_report.hpp"
#include "traces/error.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/training/outside_memory.hpp"

namespace highwater {
namespace {

namespace po = boost::program_options;

const std::vector<std::string> kExample{
    "FILE in TOML, for example:",
    "cycles = 3",
    "[programs.trainer]",
    "plan = \"--model gpt2 --batch 4 --seq 512\"",
    "[programs.engine]",
    "blocks = [{name = \"weights\", size = \"1GiB\"}, {name = \"cache\", size = \"30GiB\"}]",
    "[[phases]]",
    "run = \"engine\"",
    "[[phases]]",
    "run = \"trainer\"",
    "asleep = [\"engine:cache\"]"};

OptionParser phases_options() {
  OptionParser parser(command("phases"));
  parser.add()("cycles", po::value<std::uint64_t>()->value_name("N"),
               "how often the phases happen; default: the file's own, or 1")(
      "find", po::value<std::string>()->value_name("PROGRAM:BLOCK"),
      "the largest size of this block that fits, instead of the file's")(
      "gpu", po::value<std::string>()->value_name("NAME"),
      "the GPU that all programs share; highwater gpus lists them")(
      "torch",
      po::value<std::string>()->default_value(TrainingPlan{}.versions.torch)->value_name("V"),
      "the PyTorch release whose allocator serves them");
  add_memory_options(parser, "what --gpu leaves to it, otherwise unlimited");
  parser.add_format();
  parser.positional("file", -1);
  parser.note("cycles", kExample);
  return parser;
}

std::shared_ptr<const PlannedRun> plan_of(Arguments arguments,
                                          const std::optional<std::string>& gpu) {
  OptionParser parser(command("simulate"));
  add_plan_options(parser);
  const po::variables_map given = parser.parse(arguments);
  if (text_option(given, "engine") || text_option(given, "python")) {
    throw UsageError(
        "a file may not choose what runs; leave out --engine and --python: plans of phases are the "
        "model's");
  }
  arguments.insert(arguments.end(), {"--engine", "model"});
  if (gpu && !text_option(given, "gpu")) {
    arguments.insert(arguments.end(), {"--gpu", *gpu});
  }
  return std::make_shared<const PlannedRun>(read_plan(parser.parse(arguments)));
}

/// "engine:cache", among the blocks of the file.
WantedBlock wanted_block(const std::string& text, const PhasesQuestion& question) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  std::vector<std::string> known;
  for (std::size_t i = 0; i < question.programs.size(); ++i) {
    const ProgramSource& program = question.programs[i];
    const auto* const blocks = std::get_if<std::vector<NamedBlock>>(&program.source);
    for (std::size_t j = 0; blocks != nullptr && j < blocks->size(); ++j) {
      if (program.name == text.substr(0, colon) &&
          (*blocks)[j].name == text.substr(std::min(colon + 1, text.size()))) {
        return {i, j};
      }
      known.push_back(fmt::format("{}:{}", program.name, (*blocks)[j].name));
    }
  }
  throw UsageError(
      fmt::format("--find {}: the file has no such block{}", text,
                  known.empty() ? "" : fmt::format("; use {}", fmt::join(known, ", "))));
}

PhasesQuestion phases_question(const po::variables_map& values) {
  if (!values.contains("file") || values["file"].as<Arguments>().size() != 1) {
    throw UsageError("phases takes exactly one FILE; see highwater phases --help");
  }
  std::vector<std::string> problems;
  MemoryRequest memory = read_memory_options(values, problems);
  const std::optional<std::string> gpu = text_option(values, "gpu");
  collect_problems(problems, [&] {
    if (gpu && !memory.has_limit()) {
      memory.capacity = memory_for_allocator(gpu_called(*gpu), TrainingPlan{});
    }
  });
  if (!problems.empty()) {
    throw UsageErrors(std::move(problems));
  }
  PhasesQuestion question =
      read_phases_file(values["file"].as<Arguments>().front(),
                       [&](const Arguments& arguments) { return plan_of(arguments, gpu); });
  question.memory = memory;
  question.torch = values["torch"].as<std::string>();
  if (values.contains("cycles")) {
    question.cycles = values["cycles"].as<std::uint64_t>();
  }
  require_turns(question);
  if (const auto find = text_option(values, "find")) {
    question.wanted = wanted_block(*find, question);
  }
  return question;
}

}  // namespace

ExitCode run_phases(const Arguments& arguments, std::ostream& out) {
  const po::variables_map values = phases_options().parse(arguments);
  const OutputFormat format = output_format(values);
  out << phases_report(phases_answer(phases_question(values)), format);
  return ExitCode::ok;
}

}  // namespace highwater
