// A stage of torch.distributed.pipelining on this rank: its buffers and the tensors it keeps.
//
// PyTorch 2.6, torch/distributed/pipelining/stage.py: PipelineStage. The first step begins with a
// forward without gradients that finds out the shapes (_shape_inference); then one buffer for each
// micro-batch's input and one for each output's gradient are made, which stay until the end
// (_prepare_forward_infra, _prepare_backward_infra). Outputs and the gradients of the inputs are
// kept until the next step begins (clear_runtime_states).
#pragma once

#include <vector>

#include "workloads/distributed/process_group.hpp"
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

class Stage {
 public:
  /// All must outlive the stage.
  Stage(eager::Runtime& runtime, const TrainingPlan& plan, Strategy& strategy,
        Neighbours neighbours, StagePlace place);

  [[nodiscard]] bool is_first() const { return place_.index == 0; }

  [[nodiscard]] bool is_last() const { return place_.index == place_.count - 1; }

  /// Shape inference, then the buffers.
  void prepare();

  void clear_runtime_states();

  void receive_input(int micro_batch);

  /// Only the first stage uses `tokens` of the micro-batch. Returns logits on the last stage,
  /// otherwise hidden states, which the stage keeps.
  eager::Tensor forward_one_chunk(int micro_batch, const eager::Tensor& tokens);

  /// The computing stream waits when the caller does.
  [[nodiscard]] dist::Work send_output(int micro_batch);

  void receive_gradient(int micro_batch);

  /// `loss` is the last stage's; others begin with the gradient that they received. The gradient of
  /// the input is sent.
  void backward_one_chunk(int micro_batch, const eager::Tensor& loss);

  /// What the step returns on the last stage: all logits in one tensor, which nobody keeps.
  void merge_outputs() const;

 private:
  void infer_shapes();
  [[nodiscard]] eager::Dims boundary() const;
  [[nodiscard]] eager::Tensor boundary_buffer();
  [[nodiscard]] models::Outputs run(const eager::Tensor& tokens, const eager::Tensor& states);
  void receive_shapes();
  void send_shapes();

  eager::Runtime& runtime_;
  const TrainingPlan& plan_;
  Strategy& strategy_;
  Neighbours neighbours_;
  StagePlace place_;
  std::vector<eager::Tensor> inputs_;         ///< args_recv_info, by micro-batch
  std::vector<eager::Tensor> gradients_;      ///< grad_recv_info
  std::vector<eager::Tensor> output_chunks_;  ///< of this step
};

}  // namespace highwater::pipelining
