#include "tools/studies/solving/solve_field.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "tools/studies/solving/field_solvers.hpp"

namespace highwater {
namespace {

constexpr std::array kFields{
    SolveField{"batch", "batch", "largest batch", true, false, solve_batch},
    SolveField{"seq", "seq", "longest sequences", true, false, solve_seq},
    SolveField{"hidden", "hidden", "widest model", true, false, solve_hidden},
    SolveField{"lora", "lora", "highest rank of adapters", true, false, solve_lora},
    SolveField{"memory", "capacity", "least memory for the allocator", false, false, solve_memory},
    SolveField{"gpus", "dp", "fewest GPUs", false, true, solve_gpus},
    SolveField{"checkpoint", "checkpoint", "least recomputation", false, true, solve_checkpoint}};

}  // namespace

std::span<const SolveField> solve_fields() {
  return kFields;
}

const SolveField* find_solve_field(std::string_view name) {
  const auto* const found = std::ranges::find(kFields, name, &SolveField::name);
  return found == kFields.end() ? nullptr : found;
}

bool names_strategy(const OptionWords& words) {
  return std::ranges::any_of(words, [](const OptionWord& word) {
    const OptionGroup group = option_called(word.first).group;
    return word.first == "framework" || word.first == "offload" ||
           group == OptionGroup::data_parallel || group == OptionGroup::model_parallel;
  });
}

}  // namespace highwater
