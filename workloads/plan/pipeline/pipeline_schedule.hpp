// Pipeline schedules: the order in which one stage runs forwards and backwards of its
// micro-batches, and when the buffers between stages are allocated and freed.
//
// A schedule is just a list of actions, so the code that runs a stage does not need to know any
// schedule by name. Orders are those of Megatron-Core 0.16 (pipeline_parallel/schedules.py: 1F1B is
// forward_backward_pipelining_without_interleaving, interleaved is ..._with_interleaving with
// groups of as many micro-batches as there are stages) and of torch.distributed.pipelining
// (schedules.py: ScheduleGPipe). A model that is only split over GPUs, without any overlap, is
// `naive`: one micro-batch at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/plan/parallelism.hpp"

namespace highwater::dist {

enum class PipelineStep : std::uint8_t {
  receive_input,  ///< a buffer for the previous stage's output; it becomes the stage's input
  forward,
  release_output,    ///< the output has been sent: its memory may go (deallocate_pipeline_outputs)
  receive_gradient,  ///< a buffer for the gradient of the output
  backward           ///< of the output; then input, output and their gradients are let go
};

/// One step of one micro-batch through one of the stage's model chunks.
struct PipelineAction {
  PipelineStep step = PipelineStep::forward;
  int micro_batch = 0;
  int chunk = 0;

  bool operator==(const PipelineAction&) const = default;
};

/// A stage of a pipeline and its work.
struct PipelineJob {
  int stages = 1;
  int stage = 0;  ///< from 0
  int micro_batches = 1;
  int chunks = 1;  ///< model chunks per stage, of the interleaved schedule only
};

/// What the stage does in one training step. Inputs are received except by the first stage's first
/// chunk, gradients except by the last stage's last one; outputs are released except there, too.
/// @pre 0 <= stage < stages; interleaved: micro_batches is a multiple of stages
std::vector<PipelineAction> pipeline_schedule(PipelineSchedule schedule, const PipelineJob& job);

/// The most forwards whose backward has not run yet, counted in micro-batches of one chunk.
int most_in_flight(const std::vector<PipelineAction>& actions);

}  // namespace highwater::dist
