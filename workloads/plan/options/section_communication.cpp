// Options of collectives and of events that complete late.
#include <array>

#include "workloads/plan/options/axes.hpp"
#include "workloads/plan/options/option_table.hpp"

namespace highwater::option_sections {
namespace {

using namespace axes;
using enum OptionGroup;
using enum OptionUse;

constexpr std::int64_t kMostLag = 1'000'000;

constexpr std::array kCommunicationRows{
    Option{"no-sync", "", data_parallel, rare,
           "gradients are reduced only after the last micro-batch of a step",
           "Highwater's choice: no_sync() is called by scripts",
           flag<OfParallel<&Parallelism::no_sync>>()},
    Option{"backend", "B", data_parallel, rare, "what carries collectives; fake does nothing",
           "torch 2.6 distributed/distributed_c10d.py: of cuda",
           word<OfParallel<&Parallelism::backend>, kCommBackends>()},
    Option{"event-lag", "N", memory, rare,
           "kernel launches by which events of other streams are delayed",
           "Highwater's choice: the GPU keeps up",
           whole<OfParallel<&Parallelism::event_lag>>(0, kMostLag)},
    Option{"event-queries", "N", memory, rare, "how often an event is found incomplete",
           "Highwater's choice: the GPU keeps up",
           whole<OfParallel<&Parallelism::event_queries>>(0, kMostLag)},
};

}  // namespace

std::span<const Option> communication_options() {
  return kCommunicationRows;
}

}  // namespace highwater::option_sections
