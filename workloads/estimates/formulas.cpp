// The table of closed forms: a new one is a file of its own and one line here.
#include <algorithm>
#include <array>

#include "workloads/estimates/forms/accelerate.hpp"
#include "workloads/estimates/forms/deepspeed_activations.hpp"
#include "workloads/estimates/forms/deepspeed_zero2.hpp"
#include "workloads/estimates/forms/deepspeed_zero3.hpp"
#include "workloads/estimates/forms/dnnmem.hpp"
#include "workloads/estimates/forms/expert_parallel.hpp"
#include "workloads/estimates/forms/four_n.hpp"
#include "workloads/estimates/forms/korthikanti.hpp"
#include "workloads/estimates/forms/megatron.hpp"
#include "workloads/estimates/forms/nemo.hpp"
#include "workloads/estimates/forms/sequence_parallel.hpp"
#include "workloads/estimates/forms/tensor_grid.hpp"
#include "workloads/estimates/forms/zero_paper.hpp"
#include "workloads/estimates/llmem/llmem.hpp"
#include "workloads/estimates/llmem/llmem_code.hpp"
#include "workloads/estimates/terms/formula.hpp"

namespace highwater {
namespace {

constexpr std::array kFormulas{
    &kFourN,
    &kZeroPaper,
    &kAccelerate,
    &kDeepspeedZero2,
    &kDeepspeedZero2Current,
    &kDeepspeedZero3,
    &kDeepspeedActivations,
    &kNemoPrinted,
    &kNemoTable,
    &kKorthikanti,
    &kMegatron,
    &kTensorGrid,
    &kSequenceParallel,
    &kExpertParallel,
    &kLlmem,
    &kLlmemCorrected,
    &kLlmemCode,
    &kDnnmem,
};

}  // namespace

std::string_view to_string(FormulaScope scope) {
  constexpr std::array<std::string_view, 4> kNames{"model states", "activations", "tensors",
                                                   "device"};
  return kNames[static_cast<std::size_t>(scope)];
}

std::span<const Formula* const> formulas() {
  return kFormulas;
}

const Formula* find_formula(std::string_view name) {
  const auto found = std::ranges::find(kFormulas, name, &Formula::name);
  return found == kFormulas.end() ? nullptr : *found;
}

}  // namespace highwater
