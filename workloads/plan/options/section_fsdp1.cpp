// Options of FullyShardedDataParallel (FSDP1).
#include <array>

#include "workloads/plan/options/axes.hpp"
#include "workloads/plan/options/option_table.hpp"

namespace highwater::option_sections {
namespace {

using namespace axes;
using enum OptionGroup;
using enum OptionUse;

constexpr std::string_view kClass = "torch 2.6 distributed/fsdp/fully_sharded_data_parallel.py";

constexpr std::array kFsdp1Rows{
    Option{"strategy", "S", data_parallel, rare, "FSDP1's ShardingStrategy",
           "torch 2.6 distributed/fsdp/_init_utils.py _init_core_state",
           word<OfFsdp<&Fsdp::strategy>, kShardingStrategies>()},
    Option{"use-orig-params", "", data_parallel, rare,
           "FSDP1: the optimizer sees the model's parameters, not the flat ones",
           "transformers 5.12 training_args.py fsdp_config; torch's class: false",
           flag<OfFsdp<&Fsdp::use_orig_params>>()},
    Option{"limit-all-gathers", "", data_parallel, rare,
           "FSDP1: the host waits, so that at most two all-gathers are under way", kClass,
           flag<OfFsdp<&Fsdp::limit_all_gathers>>()},
    Option{"forward-prefetch", "", data_parallel, rare,
           "FSDP1: gather the next unit's parameters before a unit's forward", kClass,
           flag<OfFsdp<&Fsdp::forward_prefetch>>()},
    Option{"backward-prefetch", "W", data_parallel, rare,
           "FSDP1: gather the unit that comes next before a unit's backward, or after it", kClass,
           word<OfFsdp<&Fsdp::backward_prefetch>, kBackwardPrefetches>()}
        .and_more("none with accelerate and Trainer, unless given (accelerate 1.15 "
                  "utils/dataclasses.py NO_PREFETCH); the file of 'accelerate config' may say "
                  "BACKWARD_PRE"),
};

}  // namespace

std::span<const Option> fsdp1_options() {
  return kFsdp1Rows;
}

}  // namespace highwater::option_sections
