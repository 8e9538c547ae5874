// Any text that a recording carries as its plan becomes options, or is refused with an InputError.
#include "tests/fuzz/from_plan.hpp"
#include "tests/fuzz/fuzz_input.hpp"
#include "workloads/sources/observed_run.hpp"

// The name and the types are libFuzzer's.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace highwater;
  try {
    fuzz::check_source(plan_of_recording(fuzz::text_of(data, size), "fuzz"));
  } catch (const InputError&) {
  } catch (const UsageError&) {
  }
  return 0;
}
