// highwater record: the run of the user's command, and the report on what it left.
#include <algorithm>
#include <array>
#include <filesystem>
#include <iostream>
#include <ostream>
#include <system_error>

#include <fmt/format.h>

#include "tools/commands/commands.hpp"
#include "tools/commands/record_options.hpp"
#include "tools/files/input.hpp"
#include "tools/record/child_process.hpp"
#include "tools/record/record_environment.hpp"
#include "tools/record/record_files.hpp"
#include "tools/record/record_outcome.hpp"
#include "tools/record/record_request.hpp"
#include "tools/reports/replay_output.hpp"
#include "tools/text/progress_line.hpp"
#include "tools/text/safe_text.hpp"
#include "traces/error.hpp"
#include "traces/formats/bytes/byte_sink.hpp"
#include "traces/formats/bytes/opened_inputs.hpp"
#include "traces/formats/bytes/output_target.hpp"

namespace highwater {
namespace {

/// The command's own output would spoil a machine-readable report.
ChildOutput output_of_child(OutputFormat format) {
  return format == OutputFormat::table ? ChildOutput::inherited : ChildOutput::to_error_output;
}

RecordOutcome run_and_watch(const RecordRequest& request) {
  const UnpackedRecordFiles files;
  const std::filesystem::path status = files.folder() / "status";
  const ProcessEnd end = run_command_line(
      request.command, record_environment(request, files.folder(), status, current_environment()),
      output_of_child(request.format));
  return read_record_outcome(status, end);
}

/// Found out now, not after the run. The recorder replaces the name, which a device or pipe must
/// not suffer.
void require_output(const std::string& path) {
  if (path == "-" || output_target(path).kind != OutputTarget::Kind::file) {
    throw UsageError("--output " + path + ": not a regular file; choose another name");
  }
  if (path.ends_with(".gz") || path.ends_with(".zst")) {
    throw UsageError("--output " + path + ": unsupported compression; use a plain name or .xz");
  }
  open_sink(path);  // and given up: nothing is left, an older file stays
}

std::string summary(const WrittenSnapshot& snapshot) {
  return fmt::format("{}: {} entries, {} optimizer step{}, {} kernel launches; PyTorch {}",
                     snapshot.path, snapshot.entries, snapshot.steps,
                     snapshot.steps == 1 ? "" : "s", snapshot.launches, snapshot.torch);
}

std::string device_text(const RecordRequest& request) {
  return request.capacity ? fmt::format("{} for the allocator", to_iec(*request.capacity))
                          : fmt::format("{} ({}, {})", request.gpu.name, request.gpu.description,
                                        to_iec(request.gpu.total_memory));
}

/// The answer: whether the run fits, judged by the device that needed most. `ended`: how.
std::string headline(const RecordOutcome& outcome, const std::string& ended,
                     const std::vector<DeviceReplay>& replays, const RecordRequest& request) {
  const auto fullest = std::ranges::max_element(
      replays, {}, [](const DeviceReplay& replay) { return replay.result.peak.reserved; });
  if (fullest == replays.end()) {
    return "nothing was allocated";
  }
  const Bytes peak = fullest->result.peak.reserved;
  if (fullest->result.counts.ooms != 0) {
    return fmt::format("OUT OF MEMORY in {}: peak reserved {}{}", device_text(request),
                       to_iec(peak), ended == "oom" ? "" : "; the script continued");
  }
  const Bytes room = memory_for_allocator(request);
  return fmt::format("{}FITS in {}: peak reserved {}, {} to spare",
                     ended_early(outcome) ? "As far as it ran: " : "", device_text(request),
                     to_iec(peak), to_iec(room - std::min(room, peak)));
}

void tell(const RecordOutcome& outcome, const std::string& ended,
          const std::vector<DeviceReplay>& replays, const RecordRequest& request,
          std::ostream& out) {
  out << printable(headline(outcome, ended, replays, request)) << "\n";
  for (const WrittenSnapshot& snapshot : outcome.snapshots) {
    out << printable(summary(snapshot)) << "\n";
    out << printable(outside_text(request, snapshot.torch, snapshot.communicators)) << "\n";
  }
  for (const std::string& note : record_notes(outcome)) {
    out << "note: " << printable(note) << "\n";
  }
}

void tell_next(const std::string& path, std::ostream& out) {
  out << "\nNext:\n";
  constexpr std::array<std::array<std::string_view, 2>, 4> kNext{{
      {"explain", "who holds memory, and what would help"},
      {"advise", "the best allocator settings for this run"},
      {"sweep", "peaks under combinations of settings (--set)"},
      {"report", "an HTML page with memory over time (--output)"},
  }};
  for (const auto& [name, what] : kNext) {
    out << printable(fmt::format("  highwater {:<8} {}   {}", name, path, what)) << "\n";
  }
}

}  // namespace

ExitCode run_record(const Arguments& arguments, std::ostream& out) {
  const RecordRequest request = read_record_request(arguments);
  std::ranges::for_each(request.command, [](const std::string& word) { remember_input(word); });
  require_output(request.output);
  const RecordOutcome outcome = run_and_watch(request);
  if (outcome.snapshots.empty()) {
    throw InputError(request.command.front(), "", why_nothing_recorded(outcome), "");
  }
  const WrittenSnapshot& main = main_snapshot(outcome, std::filesystem::absolute(request.output));
  const TraceFile file = read_trace_file(main.path, StackMode::skip);
  const auto replays =
      with_progress("replaying", [&] { return run_replays(file, main.path, ReplayRequest{}); });
  const bool for_people = request.format == OutputFormat::table;
  tell(outcome, main.ended, replays, request, for_people ? out : std::cerr);
  out << replay_output(replays, request.format, TimelineKeys::omitted, std::nullopt);
  if (for_people) {
    tell_next(main.path, out);
  }
  return command_failed(outcome) ? ExitCode::bad_input : ExitCode::ok;
}

}  // namespace highwater
