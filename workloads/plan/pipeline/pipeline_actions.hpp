// What one stage of a pipeline does in a training step, as a list of actions: forwards and
// backwards of its micro-batches, and when the buffers between stages are allocated and freed.
//
// A schedule is just such a list, so the code that runs a stage does not need to know any schedule
// by name. Those of Megatron-Core are in megatron_schedule, those of torch.distributed.pipelining
// in torch_schedule; both write actions down with an ActionWriter.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace highwater {
struct TrainingPlan;
}

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

PipelineJob pipeline_job(const TrainingPlan& plan, int stage);

/// The most forwards whose backward has not run yet, counted in micro-batches of one chunk.
int most_in_flight(const std::vector<PipelineAction>& actions);

/// A micro-batch in one model chunk.
struct PipelineUnit {
  int micro_batch = 0;
  int chunk = 0;
};

/// Writes down actions, leaving out those that do not apply at the ends of the pipeline.
class ActionWriter {
 public:
  explicit ActionWriter(const PipelineJob& job) : job_(job) {}

  void receive_input(PipelineUnit unit);

  void forward(PipelineUnit unit) { add(PipelineStep::forward, unit); }

  void release_output(PipelineUnit unit);
  void receive_gradient(PipelineUnit unit);

  void backward(PipelineUnit unit) { add(PipelineStep::backward, unit); }

  /// Everything that forward needs, and what follows if nothing else overlaps with it.
  void whole_forward(PipelineUnit unit);
  void whole_backward(PipelineUnit unit);

  std::vector<PipelineAction> take() { return std::move(actions_); }

 private:
  [[nodiscard]] bool is_end(PipelineUnit unit) const;
  void add(PipelineStep step, PipelineUnit unit);

  PipelineJob job_;
  std::vector<PipelineAction> actions_;
};

/// All forwards, then all backwards.
void write_gpipe(ActionWriter& writer, const PipelineJob& job);

/// The order in which the chunks' micro-batches are visited: a round of micro-batches, usually as
/// many as there are stages, goes through all chunks before the next round begins
/// (get_schedule_table of Megatron-Core, ScheduleInterleaved1F1B of PyTorch).
class InterleavedOrder {
 public:
  explicit InterleavedOrder(const PipelineJob& job)
      : job_(job), per_round_(job.micro_batches / std::max(1, job.micro_batches / job.stages)) {}

  [[nodiscard]] int count() const { return job_.micro_batches * job_.chunks; }

  /// Forwards before the first backward.
  [[nodiscard]] int warm_up() const;
  [[nodiscard]] PipelineUnit forward(int position) const;
  [[nodiscard]] PipelineUnit backward(int position) const;

 private:
  PipelineJob job_;
  int per_round_;
};

}  // namespace highwater::dist
