#include "workloads/estimates/forms/deepspeed_zero2.hpp"

#include <algorithm>
#include <cmath>

#include "workloads/estimates/terms/assumptions.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

constexpr PartSet kSharded{MemoryPart::gradients, MemoryPart::optimizer_states};

Estimate gpu_estimate(double p, double gpus, DeepspeedZero2Rule rule, bool offload_optimizer) {
  if (offload_optimizer) {
    return {{{"16-bit weights", "2 P", 2 * p, {MemoryPart::parameters}}}};
  }
  if (rule == DeepspeedZero2Rule::code_current) {
    return {{{"16-bit weights", "2 P", 2 * p, {MemoryPart::parameters}},
             {"gradients and fp32 states", "int(18 P / G)", std::trunc(18 * p / gpus), kSharded}}};
  }
  return {{{"16-bit weights", "2 P", 2 * p, {MemoryPart::parameters}},
           {"16-bit gradients", "2 P", 2 * p, {MemoryPart::gradients}},
           {"fp32 states", "int(16 P / G)", std::trunc(16 * p / gpus), kSharded}}};
}

double host_bytes(double p, const DeepspeedJob& job, DeepspeedZero2Rule rule,
                  bool offload_optimizer) {
  // 4 bytes: every process of the node first creates the model in fp32.
  if (!offload_optimizer) {
    return std::trunc(p * 4 * job.gpus_per_node * job.buffer_factor);
  }
  const double processes = rule == DeepspeedZero2Rule::docs ? job.gpus_per_node : job.gpus();
  return std::trunc(p * std::max(4 * processes, 16.0) * job.buffer_factor);
}

std::string refusal(const EstimateInputs& inputs) {
  const Offload offload = inputs.plan.parallel.offload;
  const bool offloads_parameters = offload == Offload::params || offload == Offload::both;
  return first_refusal({refuse_without_training(inputs),
                        offloads_parameters
                            ? "ZeRO-2 keeps the parameters on every GPU; it offloads only "
                              "optimizer states"
                            : ""});
}

std::vector<std::string> broken_assumptions(const EstimateInputs& inputs) {
  return broken_deepspeed_assumptions(inputs, {DataParallel::zero2}, "ZeRO-2");
}

DeepspeedEstimate of_plan(const EstimateInputs& inputs, DeepspeedZero2Rule rule,
                          bool offload_optimizer) {
  return deepspeed_zero2(static_cast<double>(inputs.parameters()), deepspeed_job(inputs), rule,
                         offload_optimizer);
}

template <DeepspeedZero2Rule rule>
Estimate evaluate(const EstimateInputs& inputs) {
  return of_plan(inputs, rule, inputs.plan.parallel.offload == Offload::optimizer).gpu;
}

template <DeepspeedZero2Rule rule>
std::vector<FormulaVariant> variants(const EstimateInputs& inputs) {
  return {to_variant("offload_optimizer=cpu", of_plan(inputs, rule, true)),
          to_variant("offload_optimizer=none", of_plan(inputs, rule, false))};
}

}  // namespace

DeepspeedEstimate deepspeed_zero2(double parameters, const DeepspeedJob& job,
                                  DeepspeedZero2Rule rule, bool offload_optimizer) {
  return {gpu_estimate(parameters, job.gpus(), rule, offload_optimizer),
          host_bytes(parameters, job, rule, offload_optimizer)};
}

const Formula kDeepspeedZero2{
    .name = "deepspeed-zero2",
    .title = "DeepSpeed ZeRO-2, documentation",
    .scope = FormulaScope::model_states,
    .equation = "4 P + int(16 P / G); 2 P with offload_optimizer=cpu",
    .source = "DeepSpeed documentation, \"Memory Requirements\", ZeRO-2 (tables for t5-3b)",
    .assumptions =
        "fp16 weights with fp32 copies, Adam, G GPUs share the states; the host figure "
        "has a slack factor of 1.5 and counts the GPUs of one node",
    .known_errors =
        "gradients count in full, as ZeRO-1 keeps them; the code has used 2 P + int(18 P / G) "
        "since June 2024 (deepspeed-zero2-current): 11.29 instead of 15.93 GiB for t5-3b on 8 "
        "GPUs; no communication buckets, no activations, no CUDA context",
    .refusal = refusal,
    .broken_assumptions = broken_assumptions,
    .evaluate = evaluate<DeepspeedZero2Rule::docs>,
    .variants = variants<DeepspeedZero2Rule::docs>,
};

const Formula kDeepspeedZero2Current{
    .name = "deepspeed-zero2-current",
    .title = "DeepSpeed ZeRO-2, code since June 2024",
    .scope = FormulaScope::model_states,
    .equation = "2 P + int(18 P / G); 2 P with offload_optimizer=cpu",
    .source =
        "DeepSpeed since change #5099, deepspeed/runtime/zero/stage_1_and_2.py, "
        "estimate_zero2_model_states_mem_needs",
    .assumptions =
        "fp16 weights with fp32 copies, Adam, G GPUs share gradients and states; the "
        "host figure has a slack factor of 1.5 and counts the GPUs of all nodes",
    .known_errors =
        "the host figure of a node grows with the number of nodes; no communication "
        "buckets, no activations, no CUDA context",
    .refusal = refusal,
    .broken_assumptions = broken_assumptions,
    .evaluate = evaluate<DeepspeedZero2Rule::code_current>,
    .variants = variants<DeepspeedZero2Rule::code_current>,
};

}  // namespace highwater
