#include "workloads/estimates/forms/four_n.hpp"

#include "workloads/estimates/terms/assumptions.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

std::string refusal(const EstimateInputs& inputs) {
  return refuse_without_training(inputs);
}

std::vector<std::string> broken_assumptions(const EstimateInputs& inputs) {
  return broken({{inputs.plan.precision == Precision::fp32, "it assumes fp32 weights"},
                 {uses_adam(inputs), "it assumes Adam's two moments"},
                 {trains_all(inputs), "it assumes that all parameters are trained"},
                 {keeps_gradients(inputs), "it assumes that all gradients live at the same time"},
                 {inputs.plan.parallel.offload == Offload::none, "it does not cover offloading"},
                 {inputs.plan.parallel.gpus() == 1, "it covers only one GPU"}});
}

Estimate evaluate(const EstimateInputs& inputs) {
  return four_n(static_cast<double>(inputs.parameters()));
}

}  // namespace

Estimate four_n(double parameters) {
  const double n = 4 * parameters;
  return {{{"weights", "N = 4 P", n, {MemoryPart::parameters}},
           {"gradients", "N", n, {MemoryPart::gradients}},
           {"optimizer states", "2 N", 2 * n, {MemoryPart::optimizer_states}}}};
}

const Formula kFourN{
    .name = "4n",
    .title = "the 4N rule",
    .scope = FormulaScope::model_states,
    .equation = "4 N, N = 4 P bytes of fp32 weights",
    .source = "\"Where did all the memory go\", section on optimizer states and gradients",
    .assumptions = "fp32 throughout, Adam with two moments, every parameter trained, one GPU",
    .known_errors =
        "activations, temporary buffers and fragmentation come on top; the source's own example "
        "(12 GB of LLaMA-7B weights, 48 GB) applies the fp32 rule to the fp16 size: with the "
        "stated 4 bytes per parameter it is 100.4 GiB",
    .refusal = refusal,
    .broken_assumptions = broken_assumptions,
    .evaluate = evaluate,
};

}  // namespace highwater
