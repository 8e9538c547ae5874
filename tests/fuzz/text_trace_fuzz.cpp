// Any bytes are read as a text trace, or refused with line and column unless they hold nothing;
// what is read can be written, and reading that gives the same text again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>
#include <vector>

#include "traces/error.hpp"
#include "traces/formats/bytes/byte_sink.hpp"
#include "traces/formats/text/text_trace.hpp"

namespace {

using namespace highwater;

RequestTrace read(std::span<const std::byte> bytes) {
  return read_text_trace(*memory_source(bytes, "fuzz"));
}

std::vector<std::byte> written(const RequestTrace& trace) {
  MemorySink sink;
  write_text_trace(trace, sink);
  return sink.bytes();
}

}  // namespace

// The name and the types are libFuzzer's.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  RequestTrace trace;
  try {
    trace = read(std::as_bytes(std::span(data, size)));
  } catch (const InputError& error) {
    const bool holds_nothing =
        std::string_view(error.what()).find("contains no trace") != std::string_view::npos;
    if (error.where().empty() && !holds_nothing) {
      std::abort();
    }
    return 0;
  }
  const std::vector<std::byte> once = written(trace);
  if (written(read(once)) != once) {
    std::abort();
  }
  return 0;
}
