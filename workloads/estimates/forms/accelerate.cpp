#include "workloads/estimates/forms/accelerate.hpp"

#include <algorithm>

#include "workloads/estimates/terms/assumptions.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

AccelerateDtype dtype_of(Precision precision) {
  switch (compute_dtype(precision)) {
    case DType::fp16:
      return AccelerateDtype::float16;
    case DType::bf16:
      return AccelerateDtype::bfloat16;
    default:
      return AccelerateDtype::float32;
  }
}

std::string refusal(const EstimateInputs& /*inputs*/) {
  return "";
}

std::vector<std::string> broken_assumptions(const EstimateInputs& inputs) {
  const Precision precision = inputs.plan.precision;
  if (!inputs.plan.training) {
    return broken({{!is_autocast(precision),
                    "it assumes weights loaded in 16 bits; autocast keeps them in fp32"}});
  }
  return broken({{!has_half_weights(inputs), "it assumes fp32 weights under autocast"},
                 {uses_adam(inputs), "it assumes Adam's two moments"},
                 {trains_all(inputs), "it assumes that all parameters are trained"},
                 {keeps_gradients(inputs), "it assumes that all gradients live at the same time"},
                 {inputs.plan.parallel.offload == Offload::none, "it does not cover offloading"},
                 {inputs.gpus() == 1, "it covers only one GPU"}});
}

/// The largest phase, as the terms that make it up.
Estimate training_terms(double s, AccelerateDtype dtype) {
  if (dtype == AccelerateDtype::float32) {
    return {{{"model", "S", s, {MemoryPart::parameters}},
             {"gradients", "S", s, {MemoryPart::gradients}},
             {"optimizer", "2 S", 2 * s, {MemoryPart::optimizer_states}}}};
  }
  return {{{"optimizer step", "2 S", 2 * s, kModelStates}}};
}

Estimate evaluate(const EstimateInputs& inputs) {
  const double s = 4 * static_cast<double>(inputs.count.total());
  const AccelerateDtype dtype = dtype_of(inputs.plan.precision);
  if (inputs.plan.training) {
    return training_terms(s, dtype);
  }
  const bool is_half = dtype != AccelerateDtype::float32;
  return {{{"model",
            is_half ? "S / 2" : "S",
            accelerate_inference(s, dtype),
            {MemoryPart::parameters}}}};
}

/// The rows of the command's table that have a figure for training, then those for loading.
std::vector<FormulaVariant> variants(const EstimateInputs& inputs) {
  const double s = 4 * static_cast<double>(inputs.count.total());
  const auto load = [s](AccelerateDtype dtype) { return accelerate_inference(s, dtype); };
  return {
      {"training in float32", accelerate_training(s, AccelerateDtype::float32)->peak()},
      {"training in float16 or bfloat16", accelerate_training(s, AccelerateDtype::float16)->peak()},
      {"loading in float32", load(AccelerateDtype::float32)},
      {"loading in float16 or bfloat16", load(AccelerateDtype::float16)},
      {"loading in int8", load(AccelerateDtype::int8)},
      {"loading in int4", load(AccelerateDtype::int4)}};
}

}  // namespace

double AccelerateTraining::peak() const {
  return std::max({model, gradients, optimizer, step});
}

std::optional<AccelerateTraining> accelerate_training(double fp32_bytes, AccelerateDtype dtype) {
  const double s = fp32_bytes;
  switch (dtype) {
    case AccelerateDtype::float32:
      return AccelerateTraining{s, s, 2 * s, 4 * s};
    case AccelerateDtype::float16:
    case AccelerateDtype::bfloat16:
      return AccelerateTraining{s, 1.5 * s, 2 * s, 2 * s};
    case AccelerateDtype::int8:
    case AccelerateDtype::int4:
      break;
  }
  return std::nullopt;
}

double accelerate_inference(double fp32_bytes, AccelerateDtype dtype) {
  switch (dtype) {
    case AccelerateDtype::float32:
      return fp32_bytes;
    case AccelerateDtype::float16:
    case AccelerateDtype::bfloat16:
      return fp32_bytes / 2;
    case AccelerateDtype::int8:
      return fp32_bytes / 4;
    case AccelerateDtype::int4:
      return fp32_bytes / 8;
  }
  return fp32_bytes;
}

double accelerate_training_old(double fp32_bytes, AccelerateDtype dtype) {
  return 4 * accelerate_inference(fp32_bytes, dtype);
}

const Formula kAccelerate{
    .name = "accelerate",
    .title = "accelerate estimate-memory",
    .scope = FormulaScope::model_states,
    .equation =
        "S = bytes in fp32; training in fp32: max(S, S, 2 S, 4 S), in 16 bits: max(S, 1.5 "
        "S, 2 S, 2 S); loading: S, S / 2, S / 4, S / 8",
    .source =
        "Hugging Face Accelerate, accelerate/commands/estimate.py, estimate_training_usage "
        "and gather_data",
    .assumptions =
        "Adam, one GPU; 16-bit training keeps fp32 weights (autocast); in 16-bit training the "
        "phases of a step are not added up",
    .known_errors =
        "in 16-bit training the largest phase omits what the others hold at the same time: fp32 "
        "weights, gradients and two moments take 4 S; the user guide's tables follow an older "
        "rule (4 times the size in the dtype) and give 418.18 instead of 413.18; no activations; "
        "buffers are not counted here",
    .refusal = refusal,
    .broken_assumptions = broken_assumptions,
    .evaluate = evaluate,
    .variants = variants,
};

}  // namespace highwater
