#include "tools/files/input.hpp"

#include <algorithm>
#include <array>
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

/// Of a string that starts a JSON document, or of a log's "[rank3]:" and "[2026-11-28 ...]".
bool begins_document(std::string_view text) {
  const std::size_t first = text.find_first_of("{[");
  const std::size_t next = text.find_first_not_of(" \t\r\n", first + 1);
  return next != std::string_view::npos &&
         std::string_view(text[first] == '{' ? "\"}" : "{[]").find(text[next]) !=
             std::string_view::npos;
}

/// Whether JSON holds what a run printed: a line for each of its lines, or an error.
bool is_log_in_json(std::string_view text) {
  const std::size_t end = text.find('\n');
  const bool is_line_each = end != std::string_view::npos && end > 0 &&
                            text.substr(0, end).find_last_of('}') + 3 > end &&
                            text.substr(end + 1, 1) == "{";
  return is_line_each || text.find("out of memory") != std::string_view::npos;
}

bool is_printable_text(std::string_view text) {
  constexpr std::string_view kUtf16 = "\xff\xfe";
  return text.starts_with(kUtf16) || std::ranges::none_of(text, [](char c) {
           const auto byte = static_cast<unsigned char>(c);
           return byte < 7 || (byte > 13 && byte < 32 && byte != 27);
         });
}

/// The first line that says something; empty if `text` has no whole one.
std::string_view first_line_of_trace(std::string_view text) {
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    const std::string_view line = text.substr(0, end);
    if (line.find_first_not_of(" \t\r") != std::string_view::npos && !line.starts_with('#')) {
      return line;
    }
    text.remove_prefix(end + 1);
  }
  return {};
}

/// "step 1" begins a trace, "step 1 loss 2.3" a log.
bool begins_text_trace(std::span<const std::byte> head) {
  if (!looks_like_text_trace(head)) {
    return false;
  }
  const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
  const std::string_view line = first_line_of_trace(text);
  if (line.empty()) {  // comments alone, which may quote a message
    return text.find("out of memory") == std::string_view::npos;
  }
  try {
    const auto source = memory_source(std::as_bytes(std::span(line)), "");
    static_cast<void>(read_text_trace(*source));
    return true;
  } catch (const InputError&) {
    return false;
  }
}

bool looks_like_log(std::span<const std::byte> head) {
  const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
  if (text.empty() || !is_printable_text(text) || looks_like_binary_trace(head) ||
      looks_like_pickle(head) || begins_text_trace(head)) {
    return false;
  }
  return !looks_like_json(head) || !begins_document(text) || is_log_in_json(text);
}

std::string rest_of(ByteSource& source) {
  std::string text;
  std::array<std::byte, 65536> buffer{};
  while (const std::size_t count = source.read(buffer)) {
    text.append(reinterpret_cast<const char*>(buffer.data()), count);
  }
  return text;
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

std::variant<TraceFile, LogFile> read_trace_or_log(const std::string& path, StackMode stacks,
                                                   const ReadingOptions& options) {
  const ProgressLine progress("MB read");
  try {
    auto source = std::make_unique<PeekedSource>(
        open_source(path, {options.expansion, listener_of(progress)}));
    if (looks_like_log(source->head())) {
      return LogFile{rest_of(*source)};
    }
    return read_any(std::move(source), stacks, options.at);
  } catch (const std::bad_alloc&) {
    throw too_large(path);
  }
}

void require_no_broken_trace(const LogFile& log, const std::string& path) {
  const auto bytes = std::as_bytes(std::span(log.text));
  if (looks_like_text_trace(bytes.first(std::min(bytes.size(), PeekedSource::kHead)))) {
    static_cast<void>(read_text_trace(*memory_source(bytes, path)));
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
