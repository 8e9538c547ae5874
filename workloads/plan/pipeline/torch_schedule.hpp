// The order in which one rank of torch.distributed.pipelining runs its stages.
//
// PyTorch 2.6, torch/distributed/pipelining/schedules.py: ScheduleGPipe, Schedule1F1B,
// ScheduleInterleaved1F1B. The actions are dist::PipelineAction's; receive_input and
// receive_gradient fill buffers that exist since the first step, release_output is the sending,
// which frees nothing. An interleaved schedule receives when the neighbour sends; here receiving
// comes just before the use, which makes no difference for buffers that are never freed.
#pragma once

#include <vector>

#include "workloads/plan/parallel_kinds.hpp"
#include "workloads/plan/pipeline/pipeline_actions.hpp"

namespace highwater::pipelining {

/// What rank `job.stage` does in one step.
/// @pre 0 <= job.stage < job.stages; interleaved: job.micro_batches is a multiple of
///      max(1, micro_batches / stages), the number of rounds
std::vector<dist::PipelineAction> torch_schedule(PipelineSchedule schedule,
                                                 const dist::PipelineJob& job);

/// Whether ScheduleInterleaved1F1B accepts this number of micro-batches over `stages` ranks.
bool fits_rounds(int micro_batches, int stages);

}  // namespace highwater::pipelining
