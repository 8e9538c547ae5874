// Any text is read as a launch script (or a launch line, a script of one line) or refused with an
// InputError; the plan in it becomes options, or is refused with reasons. Nothing of it is run.
#include "tests/fuzz/from_plan.hpp"
#include "tests/fuzz/fuzz_input.hpp"
#include "workloads/sources/settings/launch_line.hpp"

// The name and the types are libFuzzer's.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace highwater;
  try {
    const LaunchLine line =
        read_launch_line(fuzz::text_of(data, size), "fuzz", {{"1", "7B"}, {"2", "8"}});
    fuzz::check_source(plan_of_launcher(line, "fuzz"));
    fuzz::check_source(plan_of_launch(line, "fuzz"));
  } catch (const InputError&) {
  } catch (const UsageError&) {
  }
  return 0;
}
