// Opens whatever file the user names and recognises its format by its first bytes.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

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
};

enum class ReadingProgress { shown, hidden };

/// How a file is read, besides what is kept of it.
struct ReadingOptions {
  ExpansionLimit expansion;
  ReadingProgress progress =
      ReadingProgress::shown;  ///< hidden where several files are read at once
};

/// Reads a memory snapshot, a text trace or a binary trace, compressed or not; "-" is standard
/// input. @throws InputError
TraceFile read_trace_file(const std::string& path, StackMode stacks,
                          const ReadingOptions& options = {});

}  // namespace highwater
