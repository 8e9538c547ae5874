// How long a collective takes, as NCCL itself estimates it when it chooses a protocol
// (src/graph/tuning.cc, ncclTopoTuneModel, NCCL 2.29): a ring moves the bytes at the rate of its
// slowest link, and each of its steps adds that link's latency.
#pragma once

#include "workloads/step_time/machine.hpp"

namespace highwater::timing {

/// Ranks of a group, each `stride` ranks of the job from the next.
struct Group {
  int ranks = 1;
  int stride = 1;
};

/// Members in one machine.
int ranks_in_machine(const Group& group);

/// Bytes that a member passes on per second. Each member of a machine leaves it by a port of its
/// own, so that a group of eight neighbours has eight times the network of one that has a member in
/// each machine.
double rate_of(const Group& group, const Machine& machine);

/// Seconds. `bytes` is the whole tensor: what is gathered, or what is to be summed.
double all_gather(double bytes, const Group& group, const Machine& machine);
double all_reduce(double bytes, const Group& group, const Machine& machine);
double all_to_all(double bytes, const Group& group, const Machine& machine);

inline double reduce_scatter(double bytes, const Group& group, const Machine& machine) {
  return all_gather(bytes, group, machine);
}

/// To the next of a group.
double send(double bytes, const Group& group, const Machine& machine);

/// What a message to the next of a group takes however short it is.
double start_of_message(const Group& group);

}  // namespace highwater::timing
