// One stage of a pipeline: runs the schedule's actions of a training step.
//
// Mirrors Megatron-Core 0.16 (core/pipeline_parallel/schedules.py, p2p_communication.py). A
// received tensor is a block of its own and the stage's input, a leaf; its gradient is sent back.
// An output that was sent shrinks to one element (deallocate_output_tensor,
// deallocate_pipeline_outputs as Megatron-LM's training sets it): its graph stays, but its values
// are no longer needed.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "workloads/distributed/process_group.hpp"
#include "workloads/megatron/repeated_passes.hpp"
#include "workloads/megatron/repeated_round.hpp"
#include "workloads/plan/pipeline/action_rounds.hpp"
#include "workloads/plan/pipeline/pipeline_actions.hpp"
#include "workloads/strategy/step_runner.hpp"
#include "workloads/strategy/strategy.hpp"

namespace highwater {

struct TrainingPlan;

class PipelineStage : public StepRunner {
 public:
  /// Loads `parts` of the batch of micro-batch `index`, counted over all steps.
  using Loader = std::function<models::Inputs(std::int64_t index, BatchParts parts)>;

  /// All must outlive the stage. `left_out`, if there is one, gets the rounds that are left out of
  /// the trace because they repeat the one before them.
  PipelineStage(eager::Runtime& runtime, const TrainingPlan& plan, Strategy& strategy, Loader load,
                std::vector<RepeatedRound>* left_out);

  void run(int step) override;

 private:
  /// A micro-batch in one model chunk between its forward and its backward.
  struct InFlight {
    eager::Tensor input;     ///< undefined on the pipeline's first chunk
    eager::Tensor output;    ///< the loss on its last one
    eager::Tensor gradient;  ///< of the output; undefined on the last chunk
  };

  void act_from(std::size_t begin, std::size_t end);
  std::size_t leave_out_rounds();
  void pass_over(std::size_t rounds);
  [[nodiscard]] megatron::RoundMark mark();
  void act(const dist::PipelineAction& action);
  void forward(const dist::PipelineAction& action);
  [[nodiscard]] eager::Tensor run_forward(const dist::PipelineAction& action);
  void release_output(const dist::PipelineAction& action);
  void backward(const dist::PipelineAction& action);
  [[nodiscard]] eager::Tensor run_backward(const dist::PipelineAction& action);
  [[nodiscard]] eager::Tensor pass(megatron::Pass pass, const dist::PipelineAction& action);
  [[nodiscard]] megatron::PassUnit blocks_of(const dist::PipelineAction& action);
  [[nodiscard]] eager::Tensor receive(int micro_batch);
  [[nodiscard]] bool is_last_chunk(int chunk) const;
  [[nodiscard]] BatchParts needed_parts(int chunk) const;
  InFlight& unit_of(const dist::PipelineAction& action);

  /// Gives `use` the place of each micro-batch that is in flight, chunk by chunk, the newest first.
  template <class Use>
  void for_each_in_flight(Use use);

  eager::Runtime& runtime_;
  const TrainingPlan& plan_;
  Strategy& strategy_;
  Loader load_;
  dist::PipelineJob job_;
  dist::ProcessGroup group_;
  std::vector<dist::PipelineAction> actions_;
  std::vector<InFlight> units_;  ///< by chunk and micro-batch
  megatron::RepeatedPasses passes_;
  std::vector<RepeatedRound>* left_out_;
  std::optional<dist::ActionRounds> rounds_;  ///< which may be left out
  eager::Tensor sent_gradient_;         ///< the variable input_tensor_grad, until the next backward
  std::int64_t first_micro_batch_ = 0;  ///< of the step, counted over all steps
};

}  // namespace highwater
