#include "workloads/estimates/forms/zero_paper.hpp"

#include <utility>

#include "workloads/estimates/terms/assumptions.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

ZeroStage stage_of(DataParallel kind) {
  switch (kind) {
    case DataParallel::ddp:
    case DataParallel::zero0:
      return ZeroStage::replicated;
    case DataParallel::zero1:
      return ZeroStage::one;
    case DataParallel::zero2:
      return ZeroStage::two;
    case DataParallel::zero3:
    case DataParallel::fsdp1:
    case DataParallel::fsdp2:
      return ZeroStage::three;
  }
  return ZeroStage::replicated;
}

std::string refusal(const EstimateInputs& inputs) {
  return refuse_without_training(inputs);
}

std::vector<std::string> broken_assumptions(const EstimateInputs& inputs) {
  return broken({{has_master_weights(inputs), "it assumes 16-bit weights with fp32 copies"},
                 {uses_adam(inputs), "it assumes Adam's two moments"},
                 {trains_all(inputs), "it assumes that all parameters are trained"},
                 {keeps_gradients(inputs), "it assumes that all gradients live at the same time"},
                 {!splits_the_model(inputs), "it covers only data parallelism"},
                 {inputs.plan.parallel.offload == Offload::none, "it does not cover offloading"}});
}

Estimate evaluate(const EstimateInputs& inputs) {
  const Parallelism& parallel = inputs.plan.parallel;
  return zero_paper(static_cast<double>(inputs.parameters()), parallel.dp,
                    stage_of(parallel.dp_kind));
}

std::vector<FormulaVariant> variants(const EstimateInputs& inputs) {
  const auto row = [&](std::string label, ZeroStage stage) {
    const Estimate estimate =
        zero_paper(static_cast<double>(inputs.parameters()), inputs.plan.parallel.dp, stage);
    return FormulaVariant{std::move(label), estimate.bytes(), 0};
  };
  return {row("replicated", ZeroStage::replicated), row("stage 1", ZeroStage::one),
          row("stage 2", ZeroStage::two), row("stage 3", ZeroStage::three)};
}

/// "12 P" or "12 P / N", and its value.
EstimateTerm state(std::string name, const std::string& equation, double bytes, double ranks,
                   bool shared, MemoryPart part) {
  return {
      std::move(name), equation + (shared ? " / N" : ""), shared ? bytes / ranks : bytes, {part}};
}

}  // namespace

Estimate zero_paper(double parameters, double ranks, ZeroStage stage, double k) {
  const double p = parameters;
  return {{state("16-bit weights", "2 P", 2 * p, ranks, stage >= ZeroStage::three,
                 MemoryPart::parameters),
           state("16-bit gradients", "2 P", 2 * p, ranks, stage >= ZeroStage::two,
                 MemoryPart::gradients),
           state("optimizer states", "K P", k * p, ranks, stage >= ZeroStage::one,
                 MemoryPart::optimizer_states)}};
}

const Formula kZeroPaper{
    .name = "zero-paper",
    .title = "the ZeRO paper's model states",
    .scope = FormulaScope::model_states,
    .equation = "(2 + 2 + K) P; 4 P + K P / N; 2 P + (2 + K) P / N; (4 + K) P / N; K = 12",
    .source =
        "Rajbhandari et al., \"ZeRO: Memory Optimizations Toward Training Trillion Parameter "
        "Models\", section 5 and figure 1",
    .assumptions =
        "16-bit weights and gradients, fp32 weights and Adam's two moments in the "
        "optimizer, N data-parallel ranks; fully sharded data parallel is stage 3",
    .known_errors =
        "stage 3 omits the layers gathered at any moment, and stages 1 and 2 the buckets; "
        "activations, temporary buffers and fragmentation come on top",
    .refusal = refusal,
    .broken_assumptions = broken_assumptions,
    .evaluate = evaluate,
    .variants = variants,
};

}  // namespace highwater
