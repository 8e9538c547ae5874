#include "tools/files/input.hpp"

#include <cstdint>
#include <new>
#include <optional>
#include <utility>

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

TraceFile read_any(const std::string& path, StackMode stacks, const SourceOptions& options) {
  PeekedSource source(open_source(path, options));
  if (looks_like_binary_trace(source.head())) {
    return TraceFile(read_binary_trace(source));
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

}  // namespace

TraceFile read_trace_file(const std::string& path, StackMode stacks,
                          const ReadingOptions& options) {
  std::optional<ProgressLine> progress;
  if (options.progress == ReadingProgress::shown) {
    progress.emplace("MB read");
  }
  try {
    return read_any(path, stacks,
                    {options.expansion, progress ? listener_of(*progress) : ReadListener()});
  } catch (const std::bad_alloc&) {
    throw InputError(path, "", "needs more memory to read than there is",
                     "check where the file is from, or use a machine with more");
  }
}

}  // namespace highwater
