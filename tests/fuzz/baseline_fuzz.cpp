// Any text is a baseline of `check` or refused with an InputError; what is read can be written, and
// reading that gives the same text again.
#include "tests/fuzz/fuzz_input.hpp"
#include "tools/studies/gate/baseline.hpp"
#include "traces/error.hpp"

namespace {

using namespace highwater;

std::string written(const Baseline& baseline) {
  MemorySink sink;
  write_baseline(baseline, sink);
  return {reinterpret_cast<const char*>(sink.bytes().data()), sink.bytes().size()};
}

}  // namespace

// The name and the types are libFuzzer's.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static fuzz::MemoryBackedFile file;
  try {
    const std::string once = written(read_baseline(file.holding(fuzz::text_of(data, size))));
    fuzz::require(written(read_baseline(file.holding(once))) == once);
  } catch (const InputError&) {
  }
  return 0;
}
