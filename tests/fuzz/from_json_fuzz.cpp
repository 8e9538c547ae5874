// Any text is read as a configuration in JSON or refused with an InputError; the plan in it becomes
// options, or is refused with reasons. Nothing is run, and no other file is opened.
#include "tests/fuzz/from_plan.hpp"
#include "tests/fuzz/fuzz_input.hpp"
#include "workloads/sources/settings/read_settings.hpp"

// The name and the types are libFuzzer's.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace highwater;
  fuzz::check_settings([&] { return read_json_settings(fuzz::text_of(data, size), "fuzz"); });
  return 0;
}
