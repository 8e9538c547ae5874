// Tensor parallelism with DTensors: parallelize_module over a LLaMA-like model.
//
// The plan is the usual one (torchtitan's parallelize_llama.py, PyTorch's tutorial): projections
// into attention and feed-forward colwise, those out of them rowwise, embedding and head cut along
// the vocabulary; with sequence parallelism norms work on a part of the sequence each.
// parallelize_module: torch/distributed/tensor/parallel/api.py of PyTorch 2.6.
#pragma once

#include <string>

#include "workloads/distributed/tensor_parallel/parallel_style.hpp"
#include "workloads/strategy/wrapper.hpp"

namespace highwater {
struct TrainingPlan;
}

namespace highwater::dist {

/// A model family's names for the modules in the plan: paths from the root or the block.
struct ParallelNames {
  const char* embedding;
  const char* norm;
  const char* head;
  const char* blocks;
  const char* first_norm;
  const char* attention;
  const char* query;
  const char* key;
  const char* value;
  const char* attention_output;
  const char* second_norm;
  const char* feed_forward;
  const char* gate;
  const char* up;
  const char* down;
};

class TensorParallel : public Wrapper {
 public:
  /// `model` and `plan` must outlive the wrapper. A model on meta is moved to the device, unless
  /// fully_shard does it later. `order`: among the process's models.
  TensorParallel(models::LanguageModel& model, const TrainingPlan& plan,
                 ModelOrder order = ModelOrder::first);

  models::Outputs forward(models::Inputs inputs) override {
    return model_.forward(std::move(inputs));
  }

  [[nodiscard]] std::vector<eager::Tensor> parameters() const override {
    return nn::trainable_parameters(model_);
  }

  [[nodiscard]] std::vector<std::vector<eager::Tensor>> parameter_groups(int groups) const override;

  /// The norm of all ranks' parts: squares are summed (_NormPartial._reduce_value).
  eager::Tensor full_norm(const eager::Tensor& partial);

 private:
  void parallelize(const ParallelNames& names);
  void parallelize_block(nn::Module& block, const ParallelNames& names);

  [[nodiscard]] RowwiseOutput rowwise_output() const {
    return sequence_ ? RowwiseOutput::sequence : RowwiseOutput::replicated;
  }

  models::LanguageModel& model_;
  bool sequence_;
  bool loss_parallel_;
  DeviceMesh mesh_;
  ParallelStyles styles_;
};

}  // namespace highwater::dist
