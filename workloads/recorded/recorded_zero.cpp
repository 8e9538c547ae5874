// Names are those of DeepSpeed's configuration (0.16.4, runtime/zero/config.py).
#include "workloads/recorded/recorded_zero.hpp"

#include <array>
#include <cstdint>
#include <string_view>

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

void read_offload(const Field& zero, Parallelism& parallel) {
  const auto optimizer = zero.find("offload_optimizer");
  const auto params = zero.find("offload_param");
  if (optimizer || params) {
    parallel.offload = !params ? Offload::optimizer : !optimizer ? Offload::params : Offload::both;
    parallel.zero.pin_memory = flag(optimizer ? *optimizer : *params, "pin_memory");
  }
}

}  // namespace

void read_deepspeed(const Field& dist, TrainingPlan& plan) {
  require_known(dist, kDeepspeedFields);
  set_options(plan, kDeepspeedFields, dist);
  const int stage = dist.at("stage").small_count();
  plan.parallel.dp_kind = stage == 1   ? DataParallel::zero1
                          : stage == 2 ? DataParallel::zero2
                                       : DataParallel::zero3;
  if (const auto zero = dist.find("zero")) {
    set_options(plan, kZeroFields, *zero);
    read_offload(*zero, plan.parallel);
  }
}

}  // namespace highwater::recorded
