// The trace of a run of many micro-batches, from that of a run of few.
//
// The micro-batches of a step make the same requests, one after the other, once gradients are there
// and a pipeline is full. So the run of a step of 512 need not be carried out: the requests of one
// round (a micro-batch, or as many as an interleaved pipeline has stages) are written once more for
// each round that the shorter run lacks, and allocations are numbered on.
//
// Where that is wrong (a batch that is loaded whole, losses that are kept until the step ends), a
// run with one more round shows it: generate() takes a lengthened trace only if the shorter of two
// runs, lengthened by the round that the other has more, is event for event the other's.
#pragma once

#include <optional>
#include <vector>

#include "traces/compact_trace.hpp"

namespace highwater {

struct TrainingPlan;

/// Two runs that differ by one round, in micro-batches per step.
struct ShortRuns {
  int round = 1;
  int fewer = 0;

  [[nodiscard]] int more() const { return fewer + round; }
};

/// The runs from which the plan's may be made; nothing where they are not much shorter than it, or
/// where its micro-batches differ.
std::optional<ShortRuns> short_runs(const TrainingPlan& plan);

/// The events of a run, to be read with the tables of a trace.
struct RunEvents {
  ChunkedVector<Event> events;
  std::size_t allocation_count = 0;
};

/// What is repeated in a run whose steps have `rounds` rounds more, each of so many forward passes,
/// than those of `trace`; nothing where the last rounds of a step before its last forward pass
/// differ, leave blocks behind, or free what is older than the rounds that are alike.
std::optional<std::vector<RepeatedRound>> repeated_rounds(const RequestTrace& trace,
                                                          std::size_t forwards_of_round,
                                                          std::size_t rounds);

/// The events of the run whose rounds are repeated.
RunEvents lengthened(const RequestTrace& trace, const std::vector<RepeatedRound>& rounds);

/// How many forward passes a micro-batch has in a run of `micro_batches` per step; nothing if they
/// differ between steps.
std::optional<std::size_t> forwards_of_micro_batch(const RequestTrace& trace, int micro_batches);

/// Whether the run whose rounds are repeated asks for what `longer` does, in the same order, with
/// the same markers.
bool is_lengthened(const RequestTrace& trace, const std::vector<RepeatedRound>& rounds,
                   const RequestTrace& longer);

}  // namespace highwater
