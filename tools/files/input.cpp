#include "tools/files/input.hpp"

#include <cstdint>
#include <new>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/scaling/scaled_requests.hpp"
#include "tools/files/program_file.hpp"
#include "tools/files/program_warnings.hpp"
#include "tools/text/progress_line.hpp"
#include "traces/error.hpp"
#include "traces/formats/binary/binary_trace.hpp"
#include "traces/formats/bytes/byte_source.hpp"
#include "traces/formats/bytes/peeked_source.hpp"
#include "traces/formats/json/json_snapshot.hpp"
#include "traces/formats/text/text_trace.hpp"

namespace highwater {
namespace {

ReadListener listener_of(const ProgressLine& progress) {
  constexpr std::uint64_t kMegabyte = 1000000;
  return [&progress](std::uint64_t done, std::uint64_t total) {
    progress.show(done / kMegabyte, total / kMegabyte);
  };
}

TraceFile profiled_file(ProfilerTrace trace) {
  TraceFile file(std::move(trace.requests));
  file.profiled = trace.run;
  return file;
}

/// The requests of a program at the values asked for, with what is to be known of them.
TraceFile requests_of_program(const ScalableProgram& program, const NamedIntegers& at,
                              const std::string& path) {
  if (at.empty()) {
    throw InputError(
        path, "",
        fmt::format("is a program of highwater fit with values of {} left open",
                    fmt::join(program.integers, ", ")),
        fmt::format("give them with --values {}=N", fmt::join(program.integers, "=N,")));
  }
  const Values values = values_for(program, at, path);
  ScaledRequests requests = requests_at(program, values);
  std::vector<std::string> notes;
  for (const ProgramWarning& warning : program_warnings(program, values, requests)) {
    notes.push_back(warning.text);
  }
  TraceFile file(std::move(requests.trace));
  file.notes = std::move(notes);
  return file;
}

UsageError no_program(const std::string& path) {
  return UsageError(fmt::format("--values: '{}' is no program of highwater fit; omit it", path));
}

TraceFile read_binary(ByteSource& source, const std::string& path, const NamedIntegers& at) {
  auto content = read_binary_trace(source);
  if (const auto* program = std::get_if<ScalableProgram>(&content)) {
    return requests_of_program(*program, at, path);
  }
  if (!at.empty()) {
    throw no_program(path);
  }
  if (auto* requests = std::get_if<RequestTrace>(&content)) {
    return TraceFile(std::move(*requests));
  }
  return TraceFile(std::get<Recording>(std::move(content)));
}

TraceFile read_any(std::unique_ptr<ByteSource> opened, StackMode stacks, const NamedIntegers& at) {
  PeekedSource source(std::move(opened));
  const std::string& path = source.name();
  if (looks_like_binary_trace(source.head())) {
    return read_binary(source, path, at);
  }
  if (!at.empty()) {
    throw no_program(path);
  }
  if (!looks_like_pickle(source.head()) && looks_like_text_trace(source.head())) {
    return read_text_trace(source);
  }
  if (looks_like_json(source.head())) {
    if (looks_like_profiler_trace(source.head())) {
      return profiled_file(read_profiler_trace(source));
    }
    return read_json_snapshot(source, {stacks});
  }
  return read_torch_snapshot(source, {stacks});  // explains what is wrong with anything else
}

InputError too_large(const std::string& path) {
  return {path, "", "needs more memory to read than there is",
          "check where the file is from, or use a machine with more"};
}

}  // namespace

bool looks_like_trace_file(std::span<const std::byte> head) {
  return looks_like_binary_trace(head) || looks_like_pickle(head) || looks_like_text_trace(head) ||
         looks_like_json(head);
}

TraceFile read_trace_file(const std::string& path, StackMode stacks,
                          const ReadingOptions& options) {
  std::optional<ProgressLine> progress;
  if (options.progress == ReadingProgress::shown) {
    progress.emplace("MB read");
  }
  try {
    return read_any(
        open_source(path, {options.expansion, progress ? listener_of(*progress) : ReadListener()}),
        stacks, options.at);
  } catch (const std::bad_alloc&) {
    throw too_large(path);
  }
}

TraceFile read_trace_source(std::unique_ptr<ByteSource> source, StackMode stacks,
                            const ReadingOptions& options) {
  const std::string path = source->name();
  try {
    return read_any(std::move(source), stacks, options.at);
  } catch (const std::bad_alloc&) {
    throw too_large(path);
  }
}

}  // namespace highwater
