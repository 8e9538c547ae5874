// Names are those of DeepSpeed's configuration (0.16.4, runtime/zero/config.py).
#include "workloads/recorded/recorded_zero.hpp"

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "workloads/recorded/recorded_words.hpp"

namespace highwater::recorded {
namespace {

constexpr std::array<std::string_view, 6> kDeepspeedFields{"kind", "world",  "stage",
                                                           "zero", "engine", "zero_init"};

/// Members of "zero_optimization" that are numbers of elements.
constexpr std::array<std::pair<std::string_view, std::int64_t Zero::*>, 7> kZeroNumbers{{
    {"reduce_bucket_size", &Zero::reduce_bucket_size},
    {"sub_group_size", &Zero::sub_group_size},
    {"stage3_prefetch_bucket_size", &Zero::prefetch_bucket_size},
    {"stage3_param_persistence_threshold", &Zero::param_persistence_threshold},
    {"stage3_model_persistence_threshold", &Zero::model_persistence_threshold},
    {"stage3_max_live_parameters", &Zero::max_live_parameters},
    {"stage3_max_reuse_distance", &Zero::max_reuse_distance},
}};

constexpr std::array<std::pair<std::string_view, bool Zero::*>, 3> kZeroFlags{{
    {"contiguous_gradients", &Zero::contiguous_gradients},
    {"reduce_scatter", &Zero::reduce_scatter},
    {"round_robin_gradients", &Zero::round_robin_gradients},
}};

void read_offload(const Field& zero, Parallelism& parallel) {
  const auto optimizer = zero.find("offload_optimizer");
  const auto params = zero.find("offload_param");
  if (optimizer || params) {
    parallel.offload = !params ? Offload::optimizer : !optimizer ? Offload::params : Offload::both;
    parallel.zero.pin_memory = flag(optimizer ? *optimizer : *params, "pin_memory");
  }
}

/// Members that do not affect memory here (allgather_bucket_size: NCCL gathers in one piece) are
/// skipped.
void read_zero(const Field& zero, Parallelism& parallel) {
  for (const auto& [name, member] : kZeroNumbers) {
    if (const auto field = zero.find(name)) {
      parallel.zero.*member = field->integer();
    }
  }
  for (const auto& [name, member] : kZeroFlags) {
    if (const auto field = zero.find(name)) {
      parallel.zero.*member = field->boolean();
    }
  }
  if (const auto overlap = zero.find("overlap_comm")) {
    parallel.zero.overlap_comm = overlap->boolean();
  }
  read_offload(zero, parallel);
}

}  // namespace

void read_deepspeed(const Field& dist, Parallelism& parallel) {
  require_known(dist, kDeepspeedFields);
  parallel.dp = dist.at("world").small_count();
  const int stage = dist.at("stage").small_count();
  parallel.dp_kind = stage == 1   ? DataParallel::zero1
                     : stage == 2 ? DataParallel::zero2
                                  : DataParallel::zero3;
  parallel.zero.init = flag(dist, "zero_init");
  if (const auto zero = dist.find("zero")) {
    read_zero(*zero, parallel);
  }
}

}  // namespace highwater::recorded
