#include "tools/engine/engine_recording.hpp"

#include <algorithm>
#include <fstream>

#include <fmt/format.h>

#include "sim/recordings/derivation.hpp"
#include "sim/recordings/recorded_requests.hpp"
#include "sim/recordings/recorded_settings.hpp"
#include "tools/engine/last_line.hpp"
#include "tools/engine/recorded_attributes.hpp"
#include "tools/files/input.hpp"
#include "tools/record/record_outcome.hpp"
#include "traces/error.hpp"
#include "traces/formats/bytes/byte_source.hpp"

namespace highwater {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr const char* kSnapshot = "record.pickle";
constexpr const char* kTrainable = "trainable";  // elements of the optimizers' parameters

std::string why_it_failed(const json::object& answer, const RecordOutcome& outcome) {
  if (text_of(answer, "reason") == "timeout") {
    return "took longer than half an hour";
  }
  if (text_of(answer, "reason") == "device") {
    return "could not use the simulated GPU: a package that Python had loaded before, for an "
           "earlier script, asked for the GPU when it was imported, and a fork cannot use it then";
  }
  if (outcome.end.status < 0) {
    return fmt::format("was killed by signal {}; the host may have run out of memory",
                       -outcome.end.status);
  }
  const std::string log = text_of(answer, "log");
  const std::string said(last_line(log));
  return !outcome.snapshots.empty() && !outcome.snapshots.front().error.empty()
             ? outcome.snapshots.front().error
         : !said.empty() ? said
                         : why_nothing_recorded(outcome);
}

int status_of(const json::object& answer) {
  const json::value* const status = answer.if_contains("status");
  if (status == nullptr || !status->is_int64()) {
    throw InputError("--engine torch", "the script", "Python does not say how it ended",
                     "try again, or use --engine model");
  }
  return static_cast<int>(status->get_int64());
}

GeneratedRun derived_run(const std::string& path) {
  const TraceFile file =
      read_trace_file(path, StackMode::keep, {.progress = ReadingProgress::hidden});
  const auto& recording = std::get<Recording>(file);
  const auto device = std::ranges::max_element(
      recording.devices, {}, [](const RecordedDevice& each) { return each.entries.size(); });
  DerivedTrace derived =
      derive_requests(recording, *device, settings_of(recording, preset_of(recording)));
  // There was room for everything: what was released was released by empty_cache().
  const std::vector<std::size_t> releases = derived.possible_empty_caches;
  GeneratedRun run;
  run.trace = take_recorded_requests(derived, releases);
  run.trace.header.settings.clear();
  take_attributes(run.trace);
  return run;
}

/// What the script leaves out, and what was not counted when it ran.
std::string notes_of(const json::object& answer, const WrittenSnapshot& snapshot) {
  std::string all = text_of(answer, kNote);
  for (const std::string& note : cudnn_notes(snapshot.cudnn)) {
    all += (all.empty() ? "" : "; ") + note;
  }
  return all;
}

}  // namespace

std::string text_of(const json::object& object, std::string_view key) {
  const json::value* const value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : "";
}

/// Empty if there is no such file.
std::string read_text(const fs::path& path) {
  return fs::exists(path) ? read_text_file(path) : std::string();
}

fs::path accept_recording(const json::object& answer, const fs::path& folder) {
  if (const std::string refusal = text_of(answer, "refused"); !refusal.empty()) {
    throw InputError("", "", refusal, "");
  }
  const ProcessEnd end{.status = status_of(answer)};
  const RecordOutcome outcome = read_record_outcome(folder / "status", end);
  if (outcome.snapshots.empty() || command_failed(outcome)) {
    throw InputError("--engine torch", "the script", why_it_failed(answer, outcome),
                     "correct the model's config.json or the plan, or give another --python");
  }
  const WrittenSnapshot& snapshot = main_snapshot(outcome, folder / "record.pickle");
  const fs::path recording = folder / "recording";
  fs::create_directory(recording);
  fs::rename(snapshot.path, recording / kSnapshot);
  std::ofstream(recording / kTrainable) << snapshot.trainable;
  std::ofstream(recording / kNote) << notes_of(answer, snapshot);
  std::ofstream(recording / kAssumed) << text_of(answer, kAssumed);
  return recording;
}

std::string kept_text(const fs::path& recording, std::string_view key) {
  return key == kNote || key == kAssumed ? read_text(recording / key) : "";
}

GeneratedRun read_recording(const fs::path& recording) {
  GeneratedRun run = derived_run((recording / kSnapshot).string());
  run.trainable = std::stoll(read_text(recording / kTrainable));
  return run;
}

}  // namespace highwater
