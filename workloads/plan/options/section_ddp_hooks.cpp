// Options of DistributedDataParallel's search for unused parameters, its communication hooks and
// its optimizer.
#include <array>

#include "workloads/plan/options/axes.hpp"
#include "workloads/plan/options/option_table.hpp"

namespace highwater::option_sections {
namespace {

using namespace axes;
using enum OptionGroup;
using enum OptionUse;

constexpr std::int64_t kMostIterations = 1'000'000'000;

constexpr std::string_view kPowerSgd =
    "torch 2.6 distributed/algorithms/ddp_comm_hooks/powerSGD_hook.py PowerSGDState";

constexpr std::array kDdpHooksRows{
    Option{"find-unused-parameters", "", data_parallel, rare,
           "DDP looks for parameters without gradients in each forward",
           "torch 2.6 nn/parallel/distributed.py find_unused_parameters",
           flag<OfDdp<&Ddp::find_unused>>()},
    Option{"ddp-comm-hook", "HOOK", data_parallel, rare, "what reduces DDP's buckets",
           "torch 2.6 nn/parallel/distributed.py: none is registered",
           word<OfDdp<&Ddp::comm_hook>, kCommHooks>()},
    Option{"powersgd-rank", "N", data_parallel, rare, "matrix_approximation_rank", kPowerSgd,
           whole<OfPowerSgd<&PowerSgd::rank>>(1, kMostRanks)},
    Option{"powersgd-start-iter", "N", data_parallel, rare,
           "first iterations with a plain all-reduce (start_powerSGD_iter)", kPowerSgd,
           whole<OfPowerSgd<&PowerSgd::start_iter>>(0, kMostIterations)},
    Option{"powersgd-min-rate", "X", data_parallel, rare,
           "matrices that shrink by less than this stay whole (min_compression_rate)", kPowerSgd,
           real<OfPowerSgd<&PowerSgd::min_compression_rate>>(1e-6, 1e9, "above 0")},
    Option{"powersgd-error-feedback", "", data_parallel, rare,
           "add the lost part in the next iteration (use_error_feedback)", kPowerSgd,
           flag<OfPowerSgd<&PowerSgd::error_feedback>>()},
    Option{"powersgd-warm-start", "", data_parallel, rare,
           "reuse P and Q in the next iteration "
           "(warm_start)",
           kPowerSgd, flag<OfPowerSgd<&PowerSgd::warm_start>>()},
    Option{"zero-redundancy", "W", data_parallel, rare,
           "ZeroRedundancyOptimizer: each rank steps its part",
           "torch 2.15 distributed/optim/zero_redundancy_optimizer.py: a program's choice",
           word<OfDdp<&Ddp::zero_redundancy>, kZeroRedundancies>()}
        .and_more("parameters: sent one by one; buckets: moved into a block for each rank "
                  "(parameters_as_bucket_view)"),
};

}  // namespace

std::span<const Option> ddp_hooks_options() {
  return kDdpHooksRows;
}

}  // namespace highwater::option_sections
