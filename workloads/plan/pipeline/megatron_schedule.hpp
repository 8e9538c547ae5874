// The order in which one stage of Megatron-Core's pipeline runs its micro-batches.
//
// Megatron-Core 0.16 (pipeline_parallel/schedules.py): 1F1B is
// forward_backward_pipelining_without_interleaving, interleaved is ..._with_interleaving with
// groups of as many micro-batches as there are stages. A model that is only split over GPUs,
// without any overlap, is `naive`: one micro-batch at a time.
#pragma once

#include <vector>

#include "workloads/plan/parallel_kinds.hpp"
#include "workloads/plan/pipeline/pipeline_actions.hpp"

namespace highwater::dist {

/// What the stage does in one training step. Inputs are received except by the first stage's first
/// chunk, gradients except by the last stage's last one; outputs are released except there, too.
/// @pre 0 <= stage < stages; interleaved: micro_batches is a multiple of stages
std::vector<PipelineAction> megatron_schedule(PipelineSchedule schedule, const PipelineJob& job);

}  // namespace highwater::dist
