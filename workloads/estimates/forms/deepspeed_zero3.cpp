#include "workloads/estimates/forms/deepspeed_zero3.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "workloads/estimates/forms/deepspeed_host.hpp"
#include "workloads/estimates/terms/assumptions.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

/// 18 bytes: fp32 weights, gradients and two moments, and the fp16 weights.
Estimate gpu_estimate(double p, double largest_layer, double gpus, DeepspeedOffload offload) {
  Estimate gpu{{{"gathered layer and its gradients",
                 "4 largest_layer",
                 4 * largest_layer,
                 {MemoryPart::communication}}}};
  if (offload == DeepspeedOffload::none) {
    gpu.terms.push_back({"model states", "int(18 P / G)", std::trunc(18 * p / gpus), kModelStates});
  } else if (offload == DeepspeedOffload::optimizer) {
    gpu.terms.push_back(
        {"16-bit weights", "int(2 P / G)", std::trunc(2 * p / gpus), {MemoryPart::parameters}});
  }
  return gpu;
}

double host_bytes(double p, double largest_layer, const DeepspeedJob& job, DeepspeedOffload offload,
                  bool zero_init) {
  const double made = 4.0 * job.gpus_per_node;  // fp32 copies at creation, one per process
  if (offload == DeepspeedOffload::none) {
    return std::trunc((zero_init ? largest_layer : p) * made * job.buffer_factor);
  }
  const double node_share = 1.0 / job.nodes;  // gpus_factor
  const double states = offload == DeepspeedOffload::both ? 18 : 16;
  // In the source's order of multiplication: the result is cut to whole bytes.
  const double held = zero_init ? p * states * node_share : p * std::max(made, states * node_share);
  return std::trunc(held * job.buffer_factor);
}

std::string refusal(const EstimateInputs& inputs) {
  return first_refusal({refuse_without_training(inputs),
                        inputs.plan.parallel.offload == Offload::params
                            ? "DeepSpeed offloads parameters only together with optimizer states"
                            : ""});
}

std::vector<std::string> broken_assumptions(const EstimateInputs& inputs) {
  return broken_deepspeed_assumptions(inputs, {DataParallel::zero3}, "ZeRO-3");
}

DeepspeedEstimate of_plan(const EstimateInputs& inputs, DeepspeedOffload offload, bool zero_init) {
  return deepspeed_zero3(static_cast<double>(inputs.parameters()),
                         static_cast<double>(inputs.largest_layer), deepspeed_job(inputs), offload,
                         zero_init);
}

Estimate evaluate(const EstimateInputs& inputs) {
  const Offload offload = inputs.plan.parallel.offload;
  const auto kind = offload == Offload::both        ? DeepspeedOffload::both
                    : offload == Offload::optimizer ? DeepspeedOffload::optimizer
                                                    : DeepspeedOffload::none;
  return of_plan(inputs, kind, true).gpu;
}

/// Only offloaded memory is pinned.
double pinned_bytes(const EstimateInputs& inputs, DeepspeedOffload offload) {
  return offload == DeepspeedOffload::none
             ? 0
             : deepspeed_pinned_host(static_cast<double>(inputs.parameters()),
                                     offload == DeepspeedOffload::both, inputs.plan.grad_accum > 1);
}

/// In the order of the documentation's tables.
std::vector<FormulaVariant> variants(const EstimateInputs& inputs) {
  std::vector<FormulaVariant> rows;
  for (const auto offload :
       {DeepspeedOffload::both, DeepspeedOffload::optimizer, DeepspeedOffload::none}) {
    for (const bool zero_init : {true, false}) {
      rows.push_back(to_variant(
          fmt::format("offload_param={}, offload_optimizer={}, zero_init={}",
                      offload == DeepspeedOffload::both ? "cpu" : "none",
                      offload == DeepspeedOffload::none ? "none" : "cpu", zero_init ? 1 : 0),
          of_plan(inputs, offload, zero_init)));
      rows.back().pinned_bytes = pinned_bytes(inputs, offload);
    }
  }
  return rows;
}

}  // namespace

DeepspeedEstimate deepspeed_zero3(double parameters, double largest_layer, const DeepspeedJob& job,
                                  DeepspeedOffload offload, bool zero_init) {
  return {gpu_estimate(parameters, largest_layer, job.gpus(), offload),
          host_bytes(parameters, largest_layer, job, offload, zero_init)};
}

const Formula kDeepspeedZero3{
    .name = "deepspeed-zero3",
    .title = "DeepSpeed ZeRO-3",
    .scope = FormulaScope::model_states,
    .equation =
        "4 largest_layer + int(18 P / G); + int(2 P / G) with offload_optimizer=cpu; nothing more "
        "if offload_param=cpu is added",
    .source =
        "DeepSpeed documentation, \"Memory Requirements\", ZeRO-3; "
        "deepspeed/runtime/zero/stage3.py, estimate_zero3_model_states_mem_needs",
    .assumptions =
        "fp16 weights with fp32 copies, Adam, G GPUs share all states; one layer is "
        "gathered at a time; the host figure has a slack factor of 1.5",
    .known_errors =
        "only one gathered layer: no prefetching, no max_live_parameters; no reduce buckets, no "
        "activations, no CUDA context",
    .refusal = refusal,
    .broken_assumptions = broken_assumptions,
    .evaluate = evaluate,
    .variants = variants,
};

}  // namespace highwater
