#include "tools/commands/scaled_command.hpp"

#include <algorithm>
#include <ostream>

#include <boost/program_options/value_semantic.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/commands/commands.hpp"
#include "tools/files/program_file.hpp"
#include "tools/fleet/fleet.hpp"
#include "tools/options/memory_options.hpp"
#include "tools/options/plan_options.hpp"
#include "tools/reports/scaling/scaled_report.hpp"
#include "tools/studies/gate/check_run.hpp"
#include "tools/studies/runs/simulate_run.hpp"
#include "traces/error.hpp"
#include "traces/parse_text.hpp"
#include "workloads/plan/options/option_table.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

namespace po = boost::program_options;

struct ScaledCommand {
  ScaledRequest request;
  OutputFormat format = OutputFormat::table;
  bool fail_on_oom = false;
  std::optional<Bytes> max_reserved;
};

/// The options of every program.
OptionParser common_options() {
  OptionParser parser(command("simulate"));
  const auto text = [](const char* name) { return po::value<std::string>()->value_name(name); };
  parser.add(OptionGroup::memory)("gpu", text("NAME"), "the GPU whose memory the program has");
  add_memory_options(parser, "what --gpu leaves to it, otherwise unlimited");
  parser.add()("steps", text("N"),
               "repeat the last complete step until there are N; default: as recorded")(
      "find-batch", "find the largest batch that fits and report on it")(
      "find", text("NAME"), "the same for another integer of the program")(
      "fail-on-oom", "exit with 1 if memory runs out")("max-reserved", text("SIZE"),
                                                       "exit with 1 if peak reserved exceeds SIZE");
  parser.add_format();
  return parser;
}

OptionParser scaled_options(const ScalableProgram& program) {
  OptionParser parser = common_options();
  auto add = parser.add();
  for (const UncoveredInteger& range : covered_by(program)) {
    require_usable(range.name);
    add(range.name.c_str(), po::value<std::string>()->value_name("N"),
        fmt::format("an integer of the program, verified from {} to {}", range.least, range.most)
            .c_str());
  }
  return parser;
}

std::uint64_t whole_number(const po::variables_map& values, const std::string& name) {
  const auto count = parse_number<std::uint64_t>(*text_option(values, name.c_str()));
  if (count.value_or(0) == 0) {
    throw UsageError(fmt::format("--{} {}: expected a whole number from 1", name,
                                 *text_option(values, name.c_str())));
  }
  return *count;
}

/// What decides which kernels run, and how large their workspaces are.
bool is_same_chip(const Gpu& a, const Gpu& b) {
  return a.major == b.major && a.minor == b.minor && a.multiprocessors == b.multiprocessors &&
         a.max_threads_per_multiprocessor == b.max_threads_per_multiprocessor;
}

/// @throws UsageError where the program was recorded for another chip
void require_recorded_chip(const ScalableProgram& program, const Gpu& gpu,
                           const std::string& path) {
  const FixedCondition* condition = find_condition(program.conditions, kGpuCondition);
  const Gpu* recorded = condition == nullptr ? nullptr : find_gpu(condition->value);
  if (recorded != nullptr && !is_same_chip(*recorded, gpu)) {
    throw UsageError(fmt::format(
        "'{0}' holds for {1}; on {2} PyTorch chooses other kernels and workspaces. Record the "
        "script with --gpu {2}, or say the memory alone: --capacity {3}",
        path, recorded->name, gpu.name, to_iec(memory_for_allocator(gpu, TrainingPlan{}))));
  }
}

std::optional<std::string> searched_integer(const po::variables_map& values,
                                            const ScaledRequest& request) {
  const bool of_batch = values.contains("find-batch");
  if (of_batch && values.contains("find")) {
    throw UsageError("--find-batch and --find look for one integer each; use one of them");
  }
  const auto name = of_batch ? std::optional<std::string>("batch") : text_option(values, "find");
  if (name && values.contains(*name)) {
    throw UsageError(fmt::format("--{0} is what is looked for; omit --{0}", *name));
  }
  if (name && !request.memory.has_limit()) {
    throw UsageError(
        fmt::format("--find{} needs a memory limit; add --gpu, --capacity or --memory-limit",
                    of_batch ? "-batch" : ""));
  }
  return name;
}

ScaledRequest scaled_request(const po::variables_map& values, const std::string& path,
                             std::shared_ptr<const ScalableProgram> program) {
  ScaledRequest request{.file = path, .program = std::move(program)};
  std::vector<std::string> problems;
  request.memory = read_memory_options(values, problems);
  if (!problems.empty()) {
    throw UsageErrors(std::move(problems));
  }
  if (const auto name = text_option(values, "gpu")) {
    const Gpu& gpu = gpu_called(*name);
    require_recorded_chip(*request.program, gpu, path);
    if (!request.memory.has_limit()) {
      request.memory.capacity = memory_for_allocator(gpu, TrainingPlan{});
    }
  }
  for (const std::string& name : request.program->integers) {
    if (values.contains(name)) {
      request.values.emplace_back(name, whole_number(values, name));
    }
  }
  if (values.contains("steps")) {
    request.steps = whole_number(values, "steps");
  }
  request.largest = searched_integer(values, request);
  return request;
}

/// "grad-accum" of "--grad-accum=4"; empty if the argument does not begin with two dashes.
std::string option_name(const std::string& argument) {
  constexpr std::string_view kDashes = "--";
  return argument.starts_with(kDashes)
             ? argument.substr(kDashes.size(), argument.find('=') - kDashes.size())
             : "";
}

/// Options of plans would change the requests, which a program has from its recordings.
/// @throws UsageError
void refuse_options_of_plans(const ScalableProgram& program, const std::string& path,
                             const Arguments& arguments) {
  for (const std::string& argument : arguments) {
    const std::string name = option_name(argument);
    const bool is_its_own = name == "gpu" || name == "steps" ||
                            std::ranges::find(program.integers, name) != program.integers.end();
    if (!is_its_own && find_option(name) != nullptr) {
      throw UsageError(fmt::format(
          "--{}: '{}' {}; it can vary {}. Record the script as it is to run, and fit again", name,
          path, conditions_words(program), fmt::join(program.integers, ", ")));
    }
  }
}

ScaledCommand parse_scaled(const std::string& path, const Arguments& arguments) {
  const auto program = std::make_shared<const ScalableProgram>(read_program_file(path));
  refuse_options_of_plans(*program, path, arguments);
  const po::variables_map values = scaled_options(*program).parse(arguments);
  ScaledCommand result;
  result.request = scaled_request(values, path, program);
  result.format = output_format(values);
  result.fail_on_oom = values.contains("fail-on-oom");
  result.max_reserved = size_option(values, "max-reserved");
  return result;
}

/// Absent where no budget was given.
std::optional<BudgetVerdict> judge_scaled(const ScaledCommand& command, const ScaledRun& run) {
  if (!command.fail_on_oom && !command.max_reserved) {
    return std::nullopt;
  }
  BudgetVerdict verdict;
  if (command.fail_on_oom && !run.fits()) {
    verdict.exceeded.push_back(oom_words(run.replay.result));
  }
  const Bytes reserved = run.replay.result.peak.reserved;
  if (command.max_reserved && reserved > *command.max_reserved) {
    verdict.exceeded.push_back(budget_words(budget_of(*command.max_reserved), reserved));
  }
  return verdict;
}

}  // namespace

void require_usable(const std::string& integer) {
  const std::vector<std::string> taken = common_options().option_names();
  const bool is_word = std::ranges::all_of(integer, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
  if (integer.empty() || !is_word || !(integer.front() >= 'a' && integer.front() <= 'z')) {
    throw UsageError(fmt::format(
        "{}: a name of an integer has small letters, digits, - and _, and begins with a letter",
        integer));
  }
  if (std::ranges::find(taken, integer) != taken.end()) {
    throw UsageError(
        fmt::format("{0}: --{0} is an option of simulate already; use another name", integer));
  }
}

std::optional<ScaledArguments> scaled_arguments(const Arguments& arguments) {
  const std::string option = "--from";
  std::vector<std::string> named;
  ScaledArguments result;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == option && i + 1 < arguments.size()) {
      named.push_back(arguments[++i]);
    } else if (arguments[i].starts_with(option + "=")) {
      named.push_back(arguments[i].substr(option.size() + 1));
    } else {
      result.others.push_back(arguments[i]);
    }
  }
  if (named.size() != 1 || !is_program_file(named.front())) {
    return std::nullopt;
  }
  result.program = named.front();
  return result;
}

ExitCode run_simulate_scaled(const ScaledArguments& arguments, std::ostream& out) {
  if (const PartFiles* const parts = merged_parts()) {
    throw InputError(parts->name(), "command",
                     "simulates a program of fit, which is never cut into parts",
                     "run the command itself");
  }
  const ScaledCommand command = parse_scaled(arguments.program, arguments.others);
  const ScaledRun run = simulate_scaled(command.request);
  const auto verdict = judge_scaled(command, run);
  out << scaled_report(run, verdict, command.format);
  if (verdict) {
    enforce(*verdict);
  }
  return ExitCode::ok;
}

}  // namespace highwater
