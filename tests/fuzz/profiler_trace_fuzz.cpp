// Any bytes are read as a Chrome trace of PyTorch's profiler or refused with an InputError; the
// requests in it can be written as text, and reading that gives the same text again.
#include "tests/fuzz/fuzz_input.hpp"
#include "tests/fuzz/text_form.hpp"
#include "traces/error.hpp"
#include "traces/formats/json/profiler_trace.hpp"

using namespace highwater;

// The name and the types are libFuzzer's.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto source = memory_source(std::as_bytes(std::span(data, size)), "fuzz");
  try {
    const std::vector<std::byte> once = fuzz::text_form(read_profiler_trace(*source).requests);
    fuzz::require(fuzz::text_form(read_text_trace(*memory_source(once, "fuzz"))) == once);
  } catch (const InputError&) {
  }
  return 0;
}
