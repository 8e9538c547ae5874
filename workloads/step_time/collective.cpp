#include "workloads/step_time/collective.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace highwater::timing {
namespace {

/// NCCL's defaults for rings (ncclTunerConstantsDefaults: baseLatencies, hwLatencies), seconds, and
/// the share of the rate that the protocol's flags leave (ncclTopoTuneModel).
struct Protocol {
  double rate_share;
  double start;
  double link_step;
  double network_step;
};

constexpr double kMicro = 1e-6;

constexpr std::array kProtocols{
    Protocol{1.0, 8.4 * kMicro, 3.4 * kMicro, 14.0 * kMicro},   // Simple
    Protocol{0.92, 14.0 * kMicro, 1.9 * kMicro, 4.0 * kMicro},  // LL128
    Protocol{0.5, 6.6 * kMicro, 0.6 * kMicro, 2.7 * kMicro},    // LL
};

int machines_of(const Group& group) {
  const int inside = ranks_in_machine(group);
  return (group.ranks + inside - 1) / inside;
}

/// A ring that passes `bytes` through each rank in `rounds` rounds of ranks - 1 steps.
double ring(double bytes, int rounds, const Group& group, const Machine& machine) {
  if (group.ranks == 1) {
    return 0;
  }
  const double network_steps = rounds * (machines_of(group) - 1);
  const double link_steps = rounds * (group.ranks - 1) - network_steps;
  double best = std::numeric_limits<double>::infinity();
  for (const Protocol& p : kProtocols) {
    best = std::min(best, bytes / (p.rate_share * rate_of(group, machine)) + p.start +
                              link_steps * p.link_step + network_steps * p.network_step);
  }
  return best;
}

double passed_on(double bytes, const Group& group) {
  return bytes * (group.ranks - 1) / group.ranks;
}

}  // namespace

int ranks_in_machine(const Group& group) {
  return std::clamp(kGpusOfMachine / group.stride, 1, group.ranks);
}

double rate_of(const Group& group, const Machine& machine) {
  const int inside = ranks_in_machine(group);
  return inside == group.ranks ? machine.link : std::min(machine.link, inside * machine.network);
}

double all_gather(double bytes, const Group& group, const Machine& machine) {
  return ring(passed_on(bytes, group), 1, group, machine);
}

double all_reduce(double bytes, const Group& group, const Machine& machine) {
  return ring(2 * passed_on(bytes, group), 2, group, machine);
}

// Every rank sends to every other by itself, what leaves the machine over its own port.
double all_to_all(double bytes, const Group& group, const Machine& machine) {
  if (group.ranks == 1) {
    return 0;
  }
  const double part = bytes / group.ranks;
  const int inside = ranks_in_machine(group);
  return std::max(part * (inside - 1) / machine.link,
                  part * (group.ranks - inside) / machine.network) +
         kProtocols.front().start;
}

double send(double bytes, const Group& group, const Machine& machine) {
  return bytes / rate_of({.ranks = 2, .stride = group.stride}, machine) + start_of_message(group);
}

double start_of_message(const Group& group) {
  const Protocol& simple = kProtocols.front();
  const bool leaves = ranks_in_machine(group) < group.ranks;
  return simple.start + (leaves ? simple.network_step : simple.link_step);
}

}  // namespace highwater::timing
