#include "tools/files/trace_output.hpp"

#include "traces/error.hpp"
#include "traces/formats/binary/binary_trace.hpp"
#include "traces/formats/bytes/byte_sink.hpp"
#include "traces/formats/text/text_trace.hpp"

namespace highwater {

std::string without_compression(std::string path) {
  for (const std::string_view ending : {".gz", ".xz", ".zst"}) {
    if (path.ends_with(ending)) {
      path.resize(path.size() - ending.size());
      break;
    }
  }
  return path;
}

TraceFormat trace_format(const std::string& path) {
  const std::string name = without_compression(path);
  if (name.ends_with(".trace")) {
    return TraceFormat::text;
  }
  if (name.ends_with(".hwt")) {
    return TraceFormat::binary;
  }
  throw UsageError(path +
                   ": unknown file extension; use .trace (text) or .hwt (binary), "
                   "and add .gz, .xz or .zst to compress");
}

void write_trace_file(const RequestTrace& trace, const std::string& path) {
  if (trace_format(path) == TraceFormat::binary) {
    write_binary_trace(trace, *open_sink(path));
  } else {
    write_text_trace(trace, *open_sink(path));
  }
}

}  // namespace highwater
