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

#include "tools/studies/memory_request.hpp"
#include "tools/studies/planned_run.hpp"

namespace highwater {

struct MemoryTrial {
  bool fits = false;
  Bytes peak;  ///< most reserved by a rank; if it does not fit, up to where that was known
};

/// How much of the plan is carried out.
enum class TrialExtent {
  part,  ///< as above: few micro-batches and steps of few ranks
  whole  ///< all micro-batches and steps, and every representative rank, as `simulate` does
};

/// What may be taken where a share of the memory is to stay free.
Bytes without_margin(Bytes memory, double margin);

/// Whether every rank stays within `limit`, with the memory of `memory` to run in.
/// @pre plan_problems(plan) is empty @throws InputError for what PyTorch itself would refuse
MemoryTrial try_memory(const TrainingPlan& plan, const MemoryRequest& memory, Bytes limit,
                       TrialExtent extent);

}  // namespace highwater
