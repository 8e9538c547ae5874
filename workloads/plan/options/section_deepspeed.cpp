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
