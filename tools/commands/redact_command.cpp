// highwater redact: a snapshot or trace that can be shown to others.
#include <ostream>

#include <boost/program_options/value_semantic.hpp>
#include <fmt/format.h>

#include "tools/commands/commands.hpp"
#include "tools/files/input.hpp"
#include "tools/files/trace_output.hpp"
#include "tools/options/reading_options.hpp"
#include "tools/text/progress_line.hpp"
#include "tools/text/safe_text.hpp"
#include "traces/error.hpp"
#include "traces/formats/binary/binary_trace.hpp"
#include "traces/formats/bytes/byte_sink.hpp"
#include "traces/formats/snapshot/snapshot_writer.hpp"
#include "traces/redaction.hpp"

namespace highwater {
namespace {

bool names_snapshot(const std::string& path) {
  const std::string name = without_compression(path);
  return name.ends_with(".pickle") || name.ends_with(".pkl");
}

void require_known_ending(const std::string& path) {
  const std::string name = without_compression(path);
  if (!names_snapshot(path) && !name.ends_with(".hwt") && !name.ends_with(".trace")) {
    throw UsageError(path +
                     ": unknown file extension; use .pickle (snapshot), .trace or .hwt, "
                     "and add .gz, .xz or .zst to compress");
  }
}

void write(const Recording& recording, const std::string& path) {
  if (names_snapshot(path)) {
    write_torch_snapshot(recording, *open_sink(path));
  } else if (trace_format(path) == TraceFormat::binary) {
    write_binary_trace(recording, *open_sink(path));
  } else {
    throw UsageError(path + ": a recording cannot be written as a text trace; use .pickle or .hwt");
  }
}

void write(const RequestTrace& trace, const std::string& path) {
  if (names_snapshot(path)) {
    throw UsageError(path +
                     ": a request trace cannot be written as a snapshot; use .trace or .hwt, or "
                     "'highwater export'");
  }
  write_trace_file(trace, path);
}

}  // namespace

ExitCode run_redact(const Arguments& arguments, std::ostream& out) {
  OptionParser parser(command("redact"));
  parser.add()("keep-torch", "keep frames of PyTorch itself, without their folder");
  add_reading_options(parser);
  parser.positional("files", -1);
  const auto values = parser.parse(arguments);
  const Arguments files = values.contains("files") ? values["files"].as<Arguments>() : Arguments{};
  if (files.size() != 2) {
    throw UsageError("redact takes IN and OUT; see highwater redact --help");
  }
  require_known_ending(files[1]);  // before reading a large file
  const TorchFrames torch =
      values.contains("keep-torch") ? TorchFrames::kept : TorchFrames::replaced;
  TraceFile file = read_trace_file(files[0], StackMode::keep, read_reading_options(values));
  std::visit(
      [&](auto& content) {
        const ProgressLine progress("writing");
        redact(content, torch);
        write(content, files[1]);
      },
      file);
  out << printable(fmt::format("{}: names and absolute times were removed; sizes, addresses, "
                               "streams, settings, line numbers and the order of everything were "
                               "kept",
                               files[1]))
      << "\n";
  return ExitCode::ok;
}

}  // namespace highwater
