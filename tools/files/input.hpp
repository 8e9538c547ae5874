// Opens whatever file the user names and recognises its format by its first bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "traces/formats/bytes/byte_source.hpp"
#include "traces/formats/json/profiler_trace.hpp"
#include "traces/formats/snapshot/torch_snapshot.hpp"
#include "traces/recording.hpp"
#include "traces/request_trace.hpp"

namespace highwater {

/// What a file can hold: what a real allocator did, or what a program asks for.
struct TraceFile : std::variant<RequestTrace, Recording> {
  using variant::variant;

  explicit TraceFile(variant content) : variant(std::move(content)) {}

  std::optional<ProfiledRun> profiled;  ///< of requests that a profiler wrote down
  std::vector<std::string> notes;       ///< of requests that a program of `highwater fit` makes
};

/// "batch" and 8: a value of an integer that a program of `highwater fit` names.
using NamedInteger = std::pair<std::string, std::uint64_t>;
using NamedIntegers = std::vector<NamedInteger>;

enum class ReadingProgress { shown, hidden };

/// How a file is read, besides what is kept of it.
struct ReadingOptions {
  ExpansionLimit expansion;
  ReadingProgress progress =
      ReadingProgress::shown;  ///< hidden where several files are read at once
  NamedIntegers at = {};       ///< the values at which a program of `highwater fit` is looked at
};

/// Whether a file that begins so is of one of the formats below, or JSON at least.
bool looks_like_trace_file(std::span<const std::byte> head);

/// Reads a memory snapshot, a text trace or a binary trace, compressed or not, or makes the
/// requests of a program; "-" is standard input. @throws InputError
TraceFile read_trace_file(const std::string& path, StackMode stacks,
                          const ReadingOptions& options = {});

/// A text that is no trace, such as the log of a run: all of it.
struct LogFile {
  std::string text;
};

/// The same of a file that may as well be a log. @throws InputError
std::variant<TraceFile, LogFile> read_trace_or_log(const std::string& path, StackMode stacks,
                                                   const ReadingOptions& options = {});

/// Of a log without anything that was looked for: whether it was meant as a trace.
/// @throws InputError with the place where it is none
void require_no_broken_trace(const LogFile& log, const std::string& path);

/// The same of a source that is open. @throws InputError
TraceFile read_trace_source(std::unique_ptr<ByteSource> source, StackMode stacks,
                            const ReadingOptions& options = {});

}  // namespace highwater
