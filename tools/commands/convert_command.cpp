// highwater convert: one trace format into another.
#include <ostream>

#include <boost/program_options/value_semantic.hpp>
#include <fmt/format.h>

#include "sim/recordings/fidelity.hpp"
#include "sim/recordings/recorded_requests.hpp"
#include "sim/recordings/recorded_settings.hpp"
#include "tools/commands/commands.hpp"
#include "tools/files/file_settings.hpp"
#include "tools/files/input.hpp"
#include "tools/files/trace_output.hpp"
#include "tools/options/reading_options.hpp"
#include "tools/text/progress_line.hpp"
#include "traces/error.hpp"
#include "traces/formats/binary/binary_trace.hpp"
#include "traces/formats/bytes/byte_sink.hpp"

namespace highwater {
namespace {

namespace po = boost::program_options;

/// A recording as requests: what a text trace can hold. Older blocks come first, as a baseline.
RequestTrace requests_of(const Recording& recording, const std::string& name,
                         std::optional<int> wanted) {
  std::vector<const RecordedDevice*> candidates;
  for (const RecordedDevice& device : recording.devices) {
    if (wanted.value_or(device.index) == device.index) {
      candidates.push_back(&device);
    }
  }
  if (candidates.empty()) {
    throw UsageError(fmt::format("'{}' contains no data for {}", name,
                                 wanted ? fmt::format("device {}", *wanted) : "any device"));
  }
  if (candidates.size() != 1) {
    throw UsageError(
        fmt::format("'{}' contains {} devices, but a text trace holds one; choose it with --device",
                    name, candidates.size()));
  }
  const VersionPreset& version = preset_of(recording);
  const Settings settings = settings_from_file(name, recording, version);
  DerivedTrace derived = derive_requests(recording, *candidates.front(), settings);
  const FidelityReplay as_recorded =
      replay_as_recorded(*candidates.front(), derived, settings, version);
  return take_recorded_requests(derived, as_recorded.empty_caches);
}

void convert(TraceFile file, const std::string& from, const std::string& to,
             std::optional<int> device) {
  const TraceFormat format = trace_format(to);
  const auto* recording = std::get_if<Recording>(&file);
  if (format == TraceFormat::binary && recording != nullptr && !device) {
    write_binary_trace(*recording, *open_sink(to));
    return;
  }
  const RequestTrace requests = recording != nullptr ? requests_of(*recording, from, device)
                                                     : std::get<RequestTrace>(std::move(file));
  write_trace_file(requests, to);
}

}  // namespace

ExitCode run_convert(const Arguments& arguments, std::ostream&) {
  OptionParser parser(command("convert"));
  parser.add()("device", po::value<int>()->value_name("N"), "only this device, as a request trace")(
      "stacks", "keep call stacks (they are most of a file)");
  add_reading_options(parser);
  parser.positional("files", -1);
  const po::variables_map values = parser.parse(arguments);
  const Arguments files = values.contains("files") ? values["files"].as<Arguments>() : Arguments{};
  if (files.size() != 2) {
    throw UsageError("convert takes IN and OUT; see highwater convert --help");
  }
  std::optional<int> device;
  if (values.contains("device")) {
    device = values["device"].as<int>();
  }
  trace_format(files[1]);  // complain before reading a large file
  const StackMode stacks = values.contains("stacks") ? StackMode::keep : StackMode::skip;
  TraceFile file = read_trace_file(files[0], stacks, read_reading_options(values));
  const ProgressLine progress("writing");
  convert(std::move(file), files[0], files[1], device);
  return ExitCode::ok;
}

}  // namespace highwater
