// Any text is a grid of plans or refused with an InputError; its entries become plans that can be
// simulated, are skipped with reasons, or are refused by field.
#include <algorithm>

#include "tests/fuzz/fuzz_input.hpp"
#include "tools/studies/validation/grid_file.hpp"
#include "tools/studies/validation/grid_plans.hpp"
#include "traces/error.hpp"

namespace {

using namespace highwater;

/// Many plans take long, and are no more than few.
constexpr std::size_t kMostPlans = 50;

/// Files that a grid names are those of other targets.
bool names_no_file(const GridEntry& entry) {
  return std::ranges::none_of(entry.options, [](const GridOption& option) {
    return option.value.find('/') != std::string::npos;
  });
}

}  // namespace

// The name and the types are libFuzzer's.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const std::vector<GridEntry> entries = read_grid(fuzz::text_of(data, size), "fuzz");
    if (entries.size() <= kMostPlans && std::ranges::all_of(entries, names_no_file)) {
      grid_plans(entries, "fuzz");
    }
  } catch (const InputError&) {
  }
  return 0;
}
