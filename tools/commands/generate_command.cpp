// highwater generate: a plan's requests as a trace file.
#include <ostream>

#include <boost/program_options/value_semantic.hpp>
#include <fmt/format.h>

#include "tools/commands/commands.hpp"
#include "tools/engine/engine.hpp"
#include "tools/files/trace_output.hpp"
#include "tools/options/output_option.hpp"
#include "tools/options/plan_options.hpp"
#include "tools/options/rank_option.hpp"
#include "tools/studies/runs/replay_run.hpp"
#include "tools/studies/runs/simulate_run.hpp"
#include "tools/text/progress_line.hpp"
#include "tools/text/safe_text.hpp"
#include "traces/formats/bytes/byte_sink.hpp"
#include "workloads/graph/compute_graph.hpp"
#include "workloads/graph/graphviz.hpp"
#include "workloads/graph/liveness.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/training/generate.hpp"

namespace highwater {
namespace {

namespace po = boost::program_options;

struct GenerateCommand {
  PlannedRun run;
  std::string output;
  std::optional<std::string> graph;
  std::string graph_module;
  std::string alloc_conf;
  std::optional<Bytes> capacity;
};

OptionParser generate_options() {
  OptionParser parser(command("generate"));
  add_plan_options(parser);
  const auto text = [](const char* name) { return po::value<std::string>()->value_name(name); };
  parser.add()("output,o", output_value("TRACE"),
               "the file to write: .trace or .hwt, plain or compressed")(
      "alloc-conf", text("S"), "settings to write into the trace's header")(
      "capacity", text("SIZE"),
      "device memory to write into the trace's header; with --gpu, what the GPU leaves to the "
      "allocator. A replay of the trace continues after running out of memory, simulate stops")(
      "graph", output_value("FILE"),
      "also write the compute graph of the first forward and backward, for Graphviz (.dot)")(
      "rank", text("R"), "the rank whose requests are written; default: 0")(
      "graph-module", text("PATH"), "only this module's part of it, e.g. model.layers.0");
  return parser;
}

/// The graph is one of this program's model.
void require_own_operators(TrainingPlan plan, std::vector<std::string>& problems) {
  if (plan.engine == EngineKind::torch || plan.engine == EngineKind::both) {
    problems.emplace_back(
        "--graph shows the operators of this program's model; use --engine model");
  }
  plan.engine = EngineKind::model;
  choose_engine(plan, problems);
}

GenerateCommand parse_generate(const Arguments& arguments) {
  const po::variables_map values = generate_options().parse(arguments);
  GenerateCommand result;
  std::vector<std::string> problems;
  try {
    result.output = output_option(values, "output").value_or("");
    if (result.output.empty()) {
      problems.emplace_back("missing --output; name the trace to write, e.g. plan.hwt.zst");
    } else {
      trace_format(result.output);
    }
  } catch (const UsageError& error) {
    problems.push_back(fmt::format("--output {}", error.what()));
  }
  try {
    result.capacity = size_option(values, "capacity");
    result.alloc_conf = text_option(values, "alloc-conf").value_or("");
    settings_from_command_line(
        result.alloc_conf, nearest_preset(text_option(values, "torch").value_or(Versions{}.torch)));
  } catch (const UsageError& error) {
    problems.emplace_back(error.what());
  }
  result.graph = output_option(values, "graph");
  result.graph_module = text_option(values, "graph-module").value_or("");
  if (!result.graph && !result.graph_module.empty()) {
    problems.emplace_back("--graph-module needs --graph; name the file to write");
  }
  if (result.graph == result.output) {
    problems.emplace_back("--graph and --output name the same file; use two files");
  }
  const int rank = read_rank(text_option(values, "rank").value_or("0"), "", problems).value_or(0);
  const auto check = [&](const TrainingPlan& plan, std::vector<std::string>& wrong) {
    check_rank(rank, plan.parallel, wrong);
    if (result.graph) {
      require_own_operators(plan, wrong);
    }
  };
  result.run = read_plan(values, std::move(problems), PlanUse::generate, check);
  result.run.plan.parallel.rank = rank;
  return result;
}

void write_graph(const GeneratedGraph& generated, const GenerateCommand& command,
                 std::ostream& out) {
  const ComputeGraph graph(generated.recording, generated.trace);
  const OperatorRange range = first_micro_batch(graph, generated.trace);
  const std::string text = graphviz(graph, {.range = range, .module = command.graph_module});
  if (text.find("shape=box") == std::string::npos) {
    throw UsageError(fmt::format(
        "--graph-module {}: no operator in this module; give a module's path, e.g. model.layers.0",
        command.graph_module));
  }
  write_text(*open_sink(*command.graph), text);
  const LivenessPeaks peaks = liveness_peaks(graph, generated.trace, range);
  out << fmt::format(
      "{}: {} operators of the first forward and backward\n  peak of requested bytes: {}; if "
      "every block were freed after its last use: {}\n",
      *command.graph, range.last.value() - range.first.value(), to_iec(peaks.actual),
      to_iec(peaks.graph_lower_bound));
}

RequestTrace generate_trace(const GenerateCommand& command, std::ostream& out) {
  if (!command.graph) {
    return make_run(command.run.plan).trace;
  }
  GeneratedGraph generated = generate_with_graph(command.run.plan);
  write_graph(generated, command, out);
  return std::move(generated.trace);
}

}  // namespace

ExitCode run_generate(const Arguments& arguments, std::ostream& out) {
  const GenerateCommand command = parse_generate(arguments);
  RequestTrace trace = with_progress("generating", [&] { return generate_trace(command, out); });
  trace.header.settings = command.alloc_conf;
  trace.header.capacity = command.capacity;
  if (!command.capacity && command.run.gpu_named) {
    trace.header.capacity = memory_for_allocator(command.run.plan.gpu, command.run.plan);
  }
  with_progress("writing", [&] { write_trace_file(trace, command.output); });
  out << fmt::format("{}: {} events, {} allocations: {}\n", printable(command.output),
                     trace.events.size(), trace.allocation_count,
                     printable(run_summary(command.run.plan)));
  for (const std::string& note : command.run.notes) {
    out << "note: " << printable(note) << "\n";
  }
  return ExitCode::ok;
}

}  // namespace highwater
