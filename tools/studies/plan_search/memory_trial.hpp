// Whether a plan fits, by simulation of all of it or of a part.
//
// A step of many micro-batches repeats itself: after as many as a pipeline has in flight, the next
// asks for what the one before it freed. Two steps show what the others do: the second is the first
// with optimizer states. Stages in the middle of a pipeline hold as much as the second with fewer
// micro-batches in flight, and of shards of unequal size the largest holds most. So a part tells
// most plans that do not fit from the others at a fraction of the time. It says no more than that:
// ranks that hold equally much reserve unequally, and the allocator of a long run may still grow,
// so the peak of the whole can be higher. What is reported comes from the whole.
#pragma once

#include <vector>

#include "tools/studies/runs/memory_request.hpp"
#include "tools/studies/runs/planned_run.hpp"
#include "workloads/training/shown_shapes.hpp"

namespace highwater {

struct TrainingPlan;

struct MemoryTrial {
  bool fits = false;
  Bytes peak;  ///< most reserved by a rank; if it does not fit, up to where that was known
};

/// What may be taken where a share of the memory is to stay free.
Bytes without_margin(Bytes memory, double margin);

/// Whether every rank of a part, as above, stays within `limit`, with the memory of `memory` to run
/// in.
/// @pre plan_problems(plan) is empty @throws InputError for what PyTorch itself would refuse
MemoryTrial try_part(const TrainingPlan& plan, const MemoryRequest& memory, Bytes limit);

/// The same for all micro-batches and steps of every representative rank, as `simulate` does.
MemoryTrial try_whole(const TrainingPlan& plan, const MemoryRequest& memory, Bytes limit);

/// The ranks that stand for the whole job, as `simulate` takes them: one of each stage, then the
/// next of each, so that those that are simulated at the same time are of different stages.
std::vector<int> ranks_of_whole(const TrainingPlan& plan);

/// The same of one of them. Ranks are independent of each other; `shown` saves work.
MemoryTrial try_rank(const TrainingPlan& plan, int rank, const MemoryRequest& memory, Bytes limit,
                     ShownShapes& shown);

/// What the trials of all ranks come to. @pre there is one
MemoryTrial all_ranks(const std::vector<MemoryTrial>& trials);

}  // namespace highwater
