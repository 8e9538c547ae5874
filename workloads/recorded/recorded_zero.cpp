// Names are those of DeepSpeed's configuration (0.16.4, runtime/zero/config.py).
#include "workloads/recorded/recorded_zero.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "workloads/plan/training_plan.hpp"
#include "workloads/recorded/recorded_options.hpp"

namespace highwater::recorded {
namespace {

constexpr std::array kDeepspeedFields{FieldOption{"kind"},   FieldOption{"world", "dp"},
                                      FieldOption{"stage"},  FieldOption{"zero"},
                                      FieldOption{"engine"}, FieldOption{"zero_init", "zero-init"}};

// Members of "zero_optimization". Others say nothing about memory here (allgather_bucket_size: NCCL
// gathers in one piece).
constexpr std::array kZeroFields{
    FieldOption{"reduce_bucket_size", "reduce-bucket-size"},
    FieldOption{"sub_group_size", "sub-group-size"},
    FieldOption{"stage3_prefetch_bucket_size", "prefetch-bucket-size"},
    FieldOption{"stage3_param_persistence_threshold", "param-persistence-threshold"},
    FieldOption{"stage3_model_persistence_threshold", "model-persistence-threshold"},
    FieldOption{"stage3_max_live_parameters", "max-live-parameters"},
    FieldOption{"stage3_max_reuse_distance", "max-reuse-distance"},
    FieldOption{"contiguous_gradients", "contiguous-gradients"},
    FieldOption{"reduce_scatter", "reduce-scatter"},
    FieldOption{"round_robin_gradients", "round-robin-gradients"},
    FieldOption{"overlap_comm", "overlap-comm"}};

constexpr std::array kStages{DataParallel::zero0, DataParallel::zero1, DataParallel::zero2,
                             DataParallel::zero3};

constexpr std::array kOptimizerFields{FieldOption{"device", "offload-optimizer-device"},
                                      FieldOption{"ratio", "offload-ratio"},
                                      FieldOption{"buffer_count", "offload-optimizer-buffer-count"},
                                      FieldOption{"pin_memory"}, FieldOption{"nvme_path"}};
constexpr std::array kParamFields{FieldOption{"device", "offload-param-device"},
                                  FieldOption{"buffer_count", "offload-param-buffer-count"},
                                  FieldOption{"buffer_size", "offload-param-buffer-size"},
                                  FieldOption{"max_in_cpu", "max-in-cpu"},
                                  FieldOption{"pin_memory"},
                                  FieldOption{"nvme_path"}};

std::optional<bool> read_pin_memory(const Field& offload) {
  const auto pins = offload.find("pin_memory");
  return pins ? std::optional(pins->boolean()) : std::nullopt;
}

void read_offload(const Field& zero, TrainingPlan& plan) {
  const auto optimizer = zero.find("offload_optimizer");
  const auto params = zero.find("offload_param");
  if (!optimizer && !params) {
    return;
  }
  if (optimizer) {
    require_known(*optimizer, kOptimizerFields);
    set_options(plan, kOptimizerFields, *optimizer);
  }
  if (params) {
    require_known(*params, kParamFields);
    set_options(plan, kParamFields, *params);
  }
  const Field& either = optimizer ? *optimizer : *params;
  set_option(plan, "offload", either, !params ? "optimizer" : !optimizer ? "params" : "both");
  plan.parallel.zero.pin_memory = read_pin_memory(either);
  if (params && read_pin_memory(*params) != plan.parallel.zero.pin_memory) {
    throw Unsupported{fmt::format(
        "{}: another pin_memory than that of the optimizer is not supported", params->path())};
  }
}

}  // namespace

void read_deepspeed(const Field& dist, TrainingPlan& plan) {
  require_known(dist, kDeepspeedFields);
  set_options(plan, kDeepspeedFields, dist);
  const auto stage = static_cast<std::size_t>(dist.at("stage").small_count());
  if (stage >= kStages.size()) {
    throw Unsupported{fmt::format("ZeRO has no stage {}", stage)};
  }
  plan.parallel.dp_kind = kStages[stage];
  if (const auto zero = dist.find("zero")) {
    set_options(plan, kZeroFields, *zero);
    read_offload(*zero, plan);
  }
}

}  // namespace highwater::recorded
