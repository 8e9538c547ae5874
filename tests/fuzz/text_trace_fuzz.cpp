// Any bytes are read as a text trace, or refused with line and column unless they hold nothing;
// what is read can be written, and reading that gives the same text again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>
#include <vector>

#include "tests/fuzz/text_form.hpp"
#include "traces/error.hpp"
#include "traces/formats/bytes/byte_source.hpp"

namespace {

using namespace highwater;

RequestTrace read(std::span<const std::byte> bytes) {
  return read_text_trace(*memory_source(bytes, "fuzz"));
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
  const std::vector<std::byte> once = fuzz::text_form(trace);
  if (fuzz::text_form(read(once)) != once) {
    std::abort();
  }
  return 0;
}
