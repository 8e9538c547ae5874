// Options of DeepSpeed's ZeRO: the members of its "zero_optimization" section.
#include <array>
#include <limits>

#include "workloads/plan/options/axes.hpp"
#include "workloads/plan/options/option_table.hpp"

namespace highwater::option_sections {
namespace {

using namespace axes;
using enum OptionGroup;
using enum OptionUse;

constexpr std::int64_t kMostBuffers = 1'000'000;
constexpr std::int64_t kMostOffloaded = 1'000'000'000'000;
constexpr std::string_view kConfig = "deepspeed 0.16.4 runtime/zero/config.py";

template <auto kMember>
constexpr Option elements(std::string_view name, std::string_view help) {
  return {name,
          "N",
          data_parallel,
          rare,
          help,
          kConfig,
          whole<OfZero<kMember>>(0, std::numeric_limits<std::int64_t>::max())};
}

template <auto kMember>
constexpr Option yes_no(std::string_view name, std::string_view help) {
  return {name, "", data_parallel, rare, help, kConfig, flag<OfZero<kMember>>()};
}

constexpr std::array kDeepspeedRows{
    Option{"overlap-comm", "", data_parallel, rare,
           "DeepSpeed reduces (and zero3 gathers) on its own streams",
           "deepspeed 0.16.4 runtime/zero/config.py overlap_comm_valid",
           optional_flag<OfZero<&Zero::overlap_comm>, Absent::standard>()}
        .with_default("true with zero3, otherwise false"),
    elements<&Zero::reduce_bucket_size>("reduce-bucket-size",
                                        "elements of a gradient bucket of DeepSpeed's ZeRO"),
    elements<&Zero::sub_group_size>("sub-group-size", "zero3: elements that are updated together"),
    elements<&Zero::prefetch_bucket_size>("prefetch-bucket-size",
                                          "zero3: elements gathered ahead of use"),
    elements<&Zero::param_persistence_threshold>(
        "param-persistence-threshold", "zero3: parameters of up to this many elements stay whole"),
    Option{"model-persistence-threshold", "N", data_parallel, rare,
           "zero3: elements that may stay whole in total",
           "deepspeed 0.16.4 runtime/zero/config.py: sys.maxsize",
           whole<OfZero<&Zero::model_persistence_threshold>>(
               0, std::numeric_limits<std::int64_t>::max())}
        .with_default("no limit"),
    elements<&Zero::max_live_parameters>("max-live-parameters",
                                         "zero3: elements up to which parameters are prefetched"),
    elements<&Zero::max_reuse_distance>(
        "max-reuse-distance", "zero3: elements within which a parameter is kept for its next use"),
    yes_no<&Zero::contiguous_gradients>("contiguous-gradients",
                                        "gradients are copied into DeepSpeed's buckets"),
    yes_no<&Zero::reduce_scatter>("reduce-scatter", "DeepSpeed reduces to each partition's owner"),
    yes_no<&Zero::round_robin_gradients>("round-robin-gradients",
                                         "zero1, zero2: assign parameters to the ranks in turn"),
    Option{"pin-memory", "", memory, rare, "what DeepSpeed offloads is in pinned host memory",
           "deepspeed 0.19.8 runtime/zero/offload_config.py; 0.16.4: False",
           optional_flag<OfZero<&Zero::pin_memory>, Absent::standard>()}
        .with_default("true, with --deepspeed 0.16 false"),
    Option{"offload-ratio", "X", memory, rare,
           "zero3: the part of the optimizer's sub-groups that is on the host",
           "deepspeed 0.16.4 runtime/zero/offload_config.py ratio",
           real<OfZero<&Zero::offload_ratio>>(0, 1, "from 0 to 1")},
    Option{"offload-optimizer-device", "D", memory, rare,
           "zero3: where --offload keeps the optimizer",
           "deepspeed 0.16.4 runtime/zero/offload_config.py device",
           word<OfZero<&Zero::optimizer_device>, kOffloadDevices>()},
    Option{"offload-optimizer-buffer-count", "N", memory, rare,
           "nvme: buffers in host memory, each for the largest sub-group",
           "deepspeed 0.16.4 runtime/zero/offload_config.py buffer_count",
           whole<OfZero<&Zero::optimizer_buffer_count>>(0, kMostBuffers)},
    Option{"offload-param-device", "D", memory, rare, "zero3: where --offload keeps parameters",
           "deepspeed 0.16.4 runtime/zero/offload_config.py device",
           word<OfZero<&Zero::param_device>, kOffloadDevices>()},
    Option{"offload-param-buffer-count", "N", memory, rare, "nvme: buffers in host memory",
           "deepspeed 0.16.4 runtime/zero/offload_config.py buffer_count",
           whole<OfZero<&Zero::param_buffer_count>>(0, kMostBuffers)},
    Option{"offload-param-buffer-size", "N", memory, rare, "nvme: elements of one of them",
           "deepspeed 0.16.4 runtime/zero/offload_config.py buffer_size",
           whole<OfZero<&Zero::param_buffer_size>>(0, kMostOffloaded)},
    Option{"max-in-cpu", "N", memory, rare,
           "nvme: elements of a rank's parameters that stay in host memory",
           "deepspeed 0.16.4 runtime/zero/offload_config.py max_in_cpu",
           whole<OfZero<&Zero::max_in_cpu>>(0, kMostOffloaded)},
    Option{"hpz-partition-size", "N", data_parallel, rare,
           "zero3: ranks that share a second copy of the parameters (ZeRO++)",
           "deepspeed 0.19.8 runtime/zero/config.py zero_hpz_partition_size",
           whole<OfZero<&Zero::hpz_partition_size>>(1, kMostRanks)},
    Option{"zero-init", "", data_parallel, rare,
           "zero3: the model is built inside deepspeed.zero.Init()",
           "Highwater's choice: deepspeed.zero.Init() is called by scripts",
           flag<OfZero<&Zero::init>>()},
};

}  // namespace

std::span<const Option> deepspeed_options() {
  return kDeepspeedRows;
}

}  // namespace highwater::option_sections
