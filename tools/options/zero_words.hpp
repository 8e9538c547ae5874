// The options of DeepSpeed's ZeRO, as names and members: one table per type, read by the command
// line and printed by reports.
#pragma once

#include <array>
#include <cstdint>

#include "workloads/plan/zero_options.hpp"

namespace highwater {

template <class Value>
struct ZeroWord {
  const char* option;
  Value Zero::*member;
  const char* help;
};

// Defaults: DeepSpeed 0.16.4, runtime/zero/config.py.
inline constexpr std::array kZeroNumbers{
    ZeroWord<std::int64_t>{"reduce-bucket-size", &Zero::reduce_bucket_size,
                           "elements of a gradient bucket of DeepSpeed's ZeRO"},
    ZeroWord<std::int64_t>{"sub-group-size", &Zero::sub_group_size,
                           "zero3: elements that are updated together"},
    ZeroWord<std::int64_t>{"prefetch-bucket-size", &Zero::prefetch_bucket_size,
                           "zero3: elements gathered ahead of use"},
    ZeroWord<std::int64_t>{"param-persistence-threshold", &Zero::param_persistence_threshold,
                           "zero3: parameters of so many elements stay whole"},
    ZeroWord<std::int64_t>{"model-persistence-threshold", &Zero::model_persistence_threshold,
                           "zero3: elements that may stay whole in all"},
    ZeroWord<std::int64_t>{"max-live-parameters", &Zero::max_live_parameters,
                           "zero3: elements up to which is prefetched"},
    ZeroWord<std::int64_t>{"max-reuse-distance", &Zero::max_reuse_distance,
                           "zero3: elements within which a parameter is kept for its next use"}};

inline constexpr std::array kZeroFlags{
    ZeroWord<bool>{"contiguous-gradients", &Zero::contiguous_gradients,
                   "gradients are copied into DeepSpeed's buckets"},
    ZeroWord<bool>{"reduce-scatter", &Zero::reduce_scatter,
                   "DeepSpeed reduces to each partition's owner"},
    ZeroWord<bool>{"round-robin-gradients", &Zero::round_robin_gradients,
                   "zero1, zero2: parameters go to the ranks in turn"},
    ZeroWord<bool>{"zero-init", &Zero::init,
                   "zero3: the model is built inside deepspeed.zero.Init()"}};

}  // namespace highwater
