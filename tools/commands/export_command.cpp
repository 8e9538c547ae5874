// highwater export: a run in the formats of other tools.
#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <ostream>

#include <boost/program_options/value_semantic.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/commands/commands.hpp"
#include "tools/files/trace_output.hpp"
#include "tools/options/memory_options.hpp"
#include "tools/options/output_option.hpp"
#include "tools/options/workload_options.hpp"
#include "tools/reports/exports/export_csv.hpp"
#include "tools/reports/exports/export_database.hpp"
#include "tools/reports/exports/export_perfetto.hpp"
#include "tools/reports/exports/export_pprof.hpp"
#include "tools/reports/exports/export_speedscope.hpp"
#include "tools/reports/replay_report.hpp"
#include "tools/studies/runs/observed_run.hpp"
#include "tools/studies/runs/workload_request.hpp"
#include "tools/text/plural.hpp"
#include "tools/text/progress_line.hpp"
#include "tools/text/safe_text.hpp"
#include "traces/error.hpp"
#include "traces/formats/bytes/byte_sink.hpp"
#include "traces/formats/bytes/output_target.hpp"
#include "traces/formats/snapshot/snapshot_writer.hpp"

namespace highwater {
namespace {

namespace po = boost::program_options;

enum class ExportFormat { snapshot, perfetto, csv, sqlite, folded, pprof, speedscope };

struct FormatName {
  std::string_view name;
  ExportFormat format;
  std::array<std::string_view, 2> endings;
};

/// Of two endings that a name has, the first counts.
constexpr std::array<FormatName, 7> kFormats{{
    {"snapshot", ExportFormat::snapshot, {".pickle", ".pkl"}},
    {"speedscope", ExportFormat::speedscope, {".speedscope.json", ".speedscope"}},
    {"perfetto", ExportFormat::perfetto, {".json", ".perfetto"}},
    {"csv", ExportFormat::csv, {".csv", ".csv"}},
    {"sqlite", ExportFormat::sqlite, {".sqlite", ".db"}},
    {"folded", ExportFormat::folded, {".folded", ".txt"}},
    {"pprof", ExportFormat::pprof, {".pb", ".pprof"}},
}};

/// Those that show one moment.
constexpr std::array kProfiles{ExportFormat::folded, ExportFormat::pprof, ExportFormat::speedscope};

std::string format_names() {
  std::vector<std::string_view> names;
  std::ranges::transform(kFormats, std::back_inserter(names), &FormatName::name);
  const std::string_view last = names.back();
  names.pop_back();
  return fmt::format("{} or {}", fmt::join(names, ", "), last);
}

struct ExportCommand {
  WorkloadRequest workload;
  ExportFormat format = ExportFormat::snapshot;
  std::string output;
  LiveChoice moment;
};

OptionParser export_options() {
  OptionParser parser(command("export"));
  const auto text = [](const char* name) { return po::value<std::string>()->value_name(name); };
  parser.add()("to", text("FORMAT"),
               "snapshot (PyTorch's memory_viz), perfetto (ui.perfetto.dev), csv or sqlite "
               "(operations), folded (flame graphs), pprof or speedscope; default: by the "
               "extension of --output")(
      "output,o", output_value("PATH"),
      "the file to write; compressed if it ends in .gz, .xz or .zst; - is standard output")(
      "at", text("MOMENT"),
      "folded, pprof, speedscope: peak (default), end, or after operation N (see csv)");
  add_workload_options(parser);
  return parser;
}

ExportFormat format_by_ending(const std::string& output) {
  const std::string name = without_compression(output);
  for (const FormatName& known : kFormats) {
    if (name.ends_with(known.endings[0]) || name.ends_with(known.endings[1])) {
      return known.format;
    }
  }
  throw UsageError(
      fmt::format("--output {}: unknown file extension; give --to {}", output, format_names()));
}

ExportFormat read_format(const po::variables_map& values, const std::string& output) {
  const auto name = text_option(values, "to");
  if (!name) {
    return format_by_ending(output);
  }
  const auto* const found = std::ranges::find(kFormats, *name, &FormatName::name);
  if (found == kFormats.end()) {
    throw UsageError(fmt::format("--to {}: unknown format; use {}", *name, format_names()));
  }
  return found->format;
}

LiveChoice read_moment(const std::string& text) {
  if (text == "peak" || text == "end") {
    return text == "peak" ? LiveExtreme::peak : LiveExtreme::end;
  }
  std::uint64_t operation = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, operation);
  if (error != std::errc{} || stop != end) {
    throw UsageError(
        fmt::format("--at {}: expected peak, end or the number of an operation", text));
  }
  return operation;
}

ExportCommand parse_export(const Arguments& arguments) {
  const po::variables_map values = export_options().parse(arguments);
  ExportCommand result;
  std::vector<std::string> problems;
  collect_problems(problems, [&] {
    const auto output = output_option(values, "output");
    if (!output) {
      throw UsageError("missing --output PATH ('-' is standard output)");
    }
    result.output = *output;
    result.format = read_format(values, result.output);
  });
  collect_problems(problems, [&] {
    result.moment = read_moment(text_option(values, "at").value_or("peak"));
    if (values.contains("at") && std::ranges::find(kProfiles, result.format) == kProfiles.end()) {
      throw UsageError("--at applies only to --to folded, pprof and speedscope; omit it");
    }
  });
  result.workload = read_workload_options(values, std::move(problems));
  return result;
}

std::string write_snapshot(const ObservedRuns& runs, ByteSink& sink) {
  const Recording simulated = runs.recording ? Recording{} : record_runs(runs);
  const Recording& recording = runs.recording ? *runs.recording : simulated;
  std::size_t entries = 0;
  std::size_t segments = 0;
  for (const RecordedDevice& device : recording.devices) {
    entries += device.entries.size();
    segments += device.segments.size();
  }
  write_torch_snapshot(recording, sink);
  return fmt::format("{}, {}{}", (entries == 1 ? "1 entry" : fmt::format("{} entries", entries)),
                     plural(segments, "segment"), runs.recording ? ", as recorded" : "");
}

/// Returns what was written, in words.
std::string write_as(const ExportCommand& command, const ObservedRuns& runs, ByteSink& sink) {
  switch (command.format) {
    case ExportFormat::snapshot:
      return write_snapshot(runs, sink);
    case ExportFormat::perfetto:
      write_chrome_trace(runs, sink);
      return "a Chrome trace; open it in ui.perfetto.dev";
    case ExportFormat::csv:
      write_operations_csv(runs, sink);
      return "a row per operation";
    case ExportFormat::sqlite:
      write_operations_database(runs, sink);
      return "a row per operation, with stacks and frames";
    case ExportFormat::folded:
      return fmt::format("{} live", to_iec(write_folded_stacks(runs, command.moment, sink)));
    case ExportFormat::pprof:
      return fmt::format("{} live; open it with go tool pprof -http=: {}",
                         to_iec(write_pprof(runs, command.moment, sink)), command.output);
    case ExportFormat::speedscope:
      return fmt::format("{} live; open it in speedscope.app",
                         to_iec(write_speedscope(runs, command.moment, sink)));
  }
  return "";
}

}  // namespace

ExitCode run_export(const Arguments& arguments, std::ostream& out) {
  const ExportCommand command = parse_export(arguments);
  const ObservedRuns runs = observe_runs(command.workload);
  const auto sink = open_sink(command.output);
  const std::string written =
      with_progress("writing", [&] { return write_as(command, runs, *sink); });
  if (is_standard_output(command.output)) {
    return ExitCode::ok;  // nothing may be mixed with it
  }
  out << printable(fmt::format("{}: {}", command.output, written)) << "\n";
  for (const ObservedRun& run : runs.runs) {
    for (const std::string& note : replay_notes(run.replay)) {
      out << "note: " << printable(note) << "\n";
    }
  }
  out << printable(runs.trust) << "\n";
  return ExitCode::ok;
}

}  // namespace highwater
