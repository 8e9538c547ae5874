// A closed form as one row: its formula, its source, when it holds, and how to evaluate it.
//
// One file per source beside this one. Each has the plain function over the source's own symbols,
// which the reference cases check, and the row that applies it to a plan.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/estimates/terms/estimate.hpp"

namespace highwater {

struct EstimateInputs;

/// What a form's total claims to be.
enum class FormulaScope : std::uint8_t {
  model_states,  ///< parameters, gradients and optimizer states
  activations,   ///< what is kept for backward
  tensors,       ///< all that a step allocates
  device         ///< all that the process takes, as nvidia-smi shows it
};

/// "model states", ...
std::string_view to_string(FormulaScope scope);

/// One configuration that the source tabulates: a row of DeepSpeed's tables.
struct FormulaVariant {
  std::string label;        ///< "offload_optimizer=cpu"
  double gpu_bytes = 0;     ///< per GPU
  double host_bytes = 0;    ///< per node
  double pinned_bytes = 0;  ///< the page-locked part of the host's
};

struct Formula {
  std::string_view name;  ///< as on the command line: "deepspeed-zero3"
  std::string_view title;
  FormulaScope scope;
  std::string_view equation;
  std::string_view source;        ///< publication, section, equation; release and function
  std::string_view assumptions;   ///< under which the source states it
  std::string_view known_errors;  ///< where it is known to be wrong, and by how much

  /// Why the form does not cover this plan, one sentence; empty if it applies.
  std::string (*refusal)(const EstimateInputs& inputs);

  /// The assumptions that this plan breaks, one sentence each: the form is evaluated anyway.
  std::vector<std::string> (*broken_assumptions)(const EstimateInputs& inputs);

  /// @pre refusal(inputs) is empty
  Estimate (*evaluate)(const EstimateInputs& inputs);

  /// All configurations that the source tabulates for this model and job; nullptr: none.
  std::vector<FormulaVariant> (*variants)(const EstimateInputs& inputs) = nullptr;
};

/// All of them, in the order in which reports show them.
std::span<const Formula* const> formulas();

/// The form of that name, or nullptr.
const Formula* find_formula(std::string_view name);

}  // namespace highwater
