#include "workloads/estimates/forms/deepspeed.hpp"

#include <utility>

#include "workloads/estimates/terms/assumptions.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {

DeepspeedJob deepspeed_job(const EstimateInputs& inputs) {
  return {.gpus_per_node = inputs.gpus_per_node, .nodes = inputs.nodes};
}

FormulaVariant to_variant(std::string label, const DeepspeedEstimate& estimate) {
  return {.label = std::move(label),
          .gpu_bytes = estimate.gpu.bytes(),
          .host_bytes = estimate.host_bytes};
}

std::vector<std::string> broken_deepspeed_assumptions(const EstimateInputs& inputs,
                                                      std::initializer_list<DataParallel> kinds,
                                                      std::string_view form_assumes) {
  return broken({assumes_data_parallel(inputs, kinds, form_assumes),
                 {has_master_weights(inputs), "it assumes 16-bit weights with fp32 copies"},
                 {uses_adam(inputs), "it assumes Adam's two moments"},
                 {trains_all(inputs), "it assumes that all parameters are trained"},
                 {keeps_gradients(inputs), "it assumes that all gradients live at the same time"},
                 {!splits_the_model(inputs),
                  "it shares states among all GPUs; the plan also splits the model"},
                 {inputs.plan.parallel.offload != Offload::activations,
                  "it does not cover offloaded activations"}});
}

}  // namespace highwater
