// What DeepSpeed's two estimators of model states share (deepspeed/runtime/zero/ stage_1_and_2.py
// and stage3.py; "Memory Requirements" in its documentation).
#pragma once

#include "workloads/estimates/terms/formula.hpp"
#include "workloads/plan/parallel_kinds.hpp"

namespace highwater {

/// The estimators' arguments besides the model.
struct DeepspeedJob {
  int gpus_per_node = 1;       ///< n, num_gpus_per_node
  int nodes = 1;               ///< num_nodes
  double buffer_factor = 1.5;  ///< f, additional_buffer_factor: slack of the host figure

  /// G, total_gpus.
  [[nodiscard]] double gpus() const { return static_cast<double>(gpus_per_node) * nodes; }
};

struct DeepspeedEstimate {
  Estimate gpu;           ///< per GPU
  double host_bytes = 0;  ///< per node
};

DeepspeedJob deepspeed_job(const EstimateInputs& inputs);

/// "label: ..." of the documentation's tables.
FormulaVariant to_variant(std::string label, const DeepspeedEstimate& estimate);

/// The assumptions that both estimators make; `kinds` are those that share states as `form_assumes`
/// describes.
std::vector<std::string> broken_deepspeed_assumptions(const EstimateInputs& inputs,
                                                      std::initializer_list<DataParallel> kinds,
                                                      std::string_view form_assumes);

}  // namespace highwater
