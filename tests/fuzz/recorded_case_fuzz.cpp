// Any text describes a recorded case, or holds reference cases, or is refused with an InputError.
//
// The first byte chooses which of the two it is read as.
#include "tests/fuzz/fuzz_input.hpp"
#include "tools/studies/validation/recorded_run.hpp"
#include "tools/studies/validation/reference_case.hpp"
#include "traces/error.hpp"
#include "workloads/recorded/recorded_case.hpp"

// The name and the types are libFuzzer's.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace highwater;
  if (size == 0) {
    return 0;
  }
  const std::string_view text = fuzz::text_of(data, size).substr(1);
  try {
    if ((data[0] & 1) != 0) {
      read_reference_cases(text, "fuzz");
    } else {
      replay_options(read_recorded_case(text, "fuzz"), "fuzz");
    }
  } catch (const InputError&) {
  }
  return 0;
}
