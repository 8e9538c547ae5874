// Turns a training plan into the request trace that real PyTorch would emit.
#pragma once

#include <optional>
#include <vector>

#include "traces/compact_trace.hpp"
#include "workloads/eager/host_memory.hpp"
#include "workloads/graph/graph_recording.hpp"
#include "workloads/strategy/bucket_use.hpp"
#include "workloads/training/shown_shapes.hpp"

namespace highwater {

struct TrainingPlan;

/// Runs `plan` symbolically and returns every request to the allocator, with markers for step and
/// phase (init, data, forward, loss, backward, clip, optimizer, zero_grad), the operator and module
/// path of each block as its stack, and its category: `gradient` is anything that becomes a .grad,
/// from the moment it is allocated; gradients of activations are `temporary`; everything that
/// autograd saves or an output holds is `activation`.
/// @throws InputError if plan_problems(plan) or generator_gaps(plan) is not empty (all in one
/// message).
RequestTrace generate(const TrainingPlan& plan);

/// The same requests, by a run of each micro-batch; generate() carries out as few as show what the
/// others do (more_rounds.hpp).
RequestTrace generate_step_by_step(const TrainingPlan& plan);

/// A plan's requests, the host memory that its model and what it offloads take, and what else its
/// run tells.
struct GeneratedRun {
  RequestTrace trace;
  HostPeaks host;
  std::vector<std::int64_t> pinned_blocks;  ///< sizes asked of the driver, in order
  std::optional<std::int64_t> trainable;    ///< elements that are trained, where the run tells
  std::optional<BucketUse> buckets;         ///< of fixed size, where the optimizer has them
};

/// The same as generate(), with the host memory.
GeneratedRun generate_run(const TrainingPlan& plan);

/// The trace of generate() without what repeats in it, and with equal blocks that come and go
/// together as one (Event::equal_blocks); nothing if blocks that are live at once hold
/// more than `most_live`, which no allocator could then serve from less.
/// `shown` is of the plan's other ranks.
std::optional<CompactTrace> generate_within(const TrainingPlan& plan, Bytes most_live,
                                            ShownShapes& shown);

/// A plan's requests with the operators that created and used each block (graph/compute_graph.hpp).
struct GeneratedGraph {
  RequestTrace trace;
  GraphRecording recording;
};

/// The same as generate(), with a record of all operators.
GeneratedGraph generate_with_graph(const TrainingPlan& plan);

}  // namespace highwater
