// A stage of torch.distributed.pipelining on this rank: its buffers and the tensors it keeps.
//
// torch/distributed/pipelining/stage.py: PipelineStage. The first step begins with passes that find
// out the shapes; until 2.14 one buffer for each micro-batch's input and one for each output's
// gradient follow, which stay until the end (_prepare_forward_infra, _prepare_backward_infra). What
// else is kept, and for how long, depends on the release (stage_rules.hpp).
#pragma once

#include <functional>
#include <vector>

#include "workloads/distributed/process_group.hpp"
#include "workloads/pipelining/object_messages.hpp"
#include "workloads/pipelining/stage_rules.hpp"
#include "workloads/strategy/strategy.hpp"

namespace highwater {
struct TrainingPlan;
}

namespace highwater::pipelining {

/// The index among all virtual stages, and among its rank's model chunks.
struct StagePlace {
  int index = 0;
  int count = 1;
  int chunk = 0;
};

/// The rank's communicators: one for batches of sends and receives, one with each neighbour
/// (ProcessGroupNCCL.cpp: pointToPoint has a communicator for each pair of ranks).
struct Neighbours {
  dist::ProcessGroup& batched;
  dist::ProcessGroup& previous;
  dist::ProcessGroup& next;
};

/// What a stage runs: its part of the model, in what the script wraps around all parts.
struct StageParts {
  models::LanguageModel& model;
  Strategy& strategy;
};

class Stage {
 public:
  /// All must outlive the stage.
  Stage(eager::Runtime& runtime, const TrainingPlan& plan, StageParts parts, Neighbours neighbours,
        StagePlace place);

  [[nodiscard]] bool is_first() const { return place_.index == 0; }

  [[nodiscard]] bool is_last() const { return place_.index == place_.count - 1; }

  /// Before 2.12.
  void infer_shapes();

  /// Since 2.12: `tokens` of the first micro-batch on the first stage, `loss_of` on the last.
  void back_up_buffers();
  void infer_forward(const eager::Tensor& tokens);
  void infer_backward(const std::function<eager::Tensor(const eager::Tensor&)>& loss_of);
  void drop_backup();

  /// What is received into, where it is made once.
  void make_buffers();

  void clear_runtime_states();

  /// Returns what the list of operations holds.
  eager::Tensor receive_input(int micro_batch);

  /// Only the first stage uses `tokens` of the micro-batch. Returns logits on the last stage,
  /// otherwise hidden states, which the stage keeps.
  eager::Tensor forward_one_chunk(int micro_batch, const eager::Tensor& tokens);

  /// The computing stream waits when the caller does.
  [[nodiscard]] dist::Work send_output(int micro_batch);

  /// The output has been sent.
  void release_output(int micro_batch);

  eager::Tensor receive_gradient(int micro_batch);

  /// `loss` is the last stage's; others begin with the gradient that they received. Returns the
  /// gradient of the input, which is to be sent; the first stage has none.
  [[nodiscard]] eager::Tensor backward_one_chunk(int micro_batch, const eager::Tensor& loss);

  [[nodiscard]] dist::Work send_gradient(const eager::Tensor& gradient);

  /// What the step returns on the last stage: all logits in one tensor, which nobody keeps.
  void merge_outputs() const;

 private:
  /// Of the passes before the first micro-batch.
  struct Trial {
    std::vector<eager::Tensor> buffers;
    eager::Tensor input;
    eager::Tensor output;
  };

  [[nodiscard]] eager::Dims boundary() const;
  [[nodiscard]] eager::Tensor boundary_buffer();
  [[nodiscard]] eager::Tensor input_buffer();
  [[nodiscard]] std::int64_t message_bytes(Description object) const;
  [[nodiscard]] models::Outputs run(const eager::Tensor& tokens, const eager::Tensor& states);
  [[nodiscard]] eager::Tensor output_of(const models::Outputs& outputs) const;
  void end_of_backward(std::size_t index);

  eager::Runtime& runtime_;
  const TrainingPlan& plan_;
  StageRules rules_;
  StageParts parts_;
  Neighbours neighbours_;
  StagePlace place_;
  Trial trial_;
  std::vector<eager::Tensor> inputs_;         ///< args_recv_info, by micro-batch
  std::vector<eager::Tensor> gradients_;      ///< grad_recv_info
  std::vector<eager::Tensor> outputs_;        ///< fwd_cache, by micro-batch
  std::vector<eager::Tensor> output_chunks_;  ///< of this step, of the last stage
};

}  // namespace highwater::pipelining
