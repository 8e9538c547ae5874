// Evaluation between training steps, variable by variable: transformers' Trainer, or a plain loop.
//
// Sources: transformers 5.24, trainer.py evaluation_loop and prediction_step, trainer_pt_utils.py
// EvalLoopContainer; examples/pytorch/language-modeling/run_clm_no_trainer.py; accelerate 1.15,
// utils/operations.py pad_across_processes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "workloads/models/language_model.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/training/batch_loader.hpp"

namespace highwater {

/// Tensors of all batches so far: one that grows, or a list.
class GatheredTensors {
 public:
  explicit GatheredTensors(const Evaluation& evaluation) : concatenates_(evaluation.concatenates) {}

  void add(const eager::Tensor& tensor);

  /// To the host, from where they never come back.
  void leave_device() { tensors_.clear(); }

 private:
  bool concatenates_;
  std::vector<eager::Tensor> tensors_;
};

class EvaluationLoop {
 public:
  /// All must outlive it.
  EvaluationLoop(eager::Runtime& runtime, const TrainingPlan& plan, models::LanguageModel& model);

  void run();

 private:
  /// What prediction_step returns; labels and logits only where they are gathered. Of an encoder
  /// with a decoder, the encoder's states come with the logits.
  struct Predictions {
    eager::Tensor loss;
    eager::Tensor logits;
    eager::Tensor encoder_states;
    eager::Tensor labels;
  };

  /// The function's variables.
  struct Variables {
    explicit Variables(const Evaluation& evaluation)
        : losses(evaluation),
          predictions(evaluation),
          encoder_states(evaluation),
          labels(evaluation) {}

    GatheredTensors losses;
    GatheredTensors predictions;
    GatheredTensors encoder_states;
    GatheredTensors labels;
    models::Inputs batch;
    Predictions last;
  };

  void run_trainers();
  void run_plain();
  void load(std::int64_t index, models::Inputs& batch) const;
  models::Outputs forward(const models::Inputs& batch);
  Predictions predict(const models::Inputs& batch);
  void gather(Variables& all);
  void move_to_host(Variables& all);
  void pad_across_processes() const;
  [[nodiscard]] eager::Tensor of_all_ranks(const eager::Tensor& own) const;

  [[nodiscard]] bool gathers_logits() const { return evaluation().outputs != EvalOutputs::loss; }

  [[nodiscard]] const Evaluation& evaluation() const { return plan_.evaluation; }

  eager::Runtime& runtime_;
  TrainingPlan plan_;  ///< of the batches that are evaluated
  models::LanguageModel& model_;
  BatchLoader loader_;
};

}  // namespace highwater
