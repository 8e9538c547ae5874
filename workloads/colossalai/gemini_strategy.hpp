// Training with Colossal-AI's Gemini and HybridAdam, as LLMem's scripts do it.
//
// Forward gathers fp16 chunk after chunk and, under placement policy "cuda", keeps them; the others
// send chunks to the host, where the step then works. Gradients are copied over the parameters in
// the chunks and reduced chunk by chunk in backward; the step updates this rank's part of the fp32
// chunks with one fused kernel and copies it into the fp16 ones. Includes loss scaling. Sources:
// Colossal-AI 0.3.0, colossalai/zero/gemini/{gemini_ddp,gemini_optimizer}.py,
// nn/optimizer/hybrid_adam.py; LLMem's dp_real.py and tp_real.py.
#pragma once

#include <optional>

#include "workloads/colossalai/gemini_manager.hpp"
#include "workloads/colossalai/parameter_hooks.hpp"
#include "workloads/plan/gemini_options.hpp"
#include "workloads/strategy/strategy.hpp"

namespace highwater {
struct Parallelism;
struct TrainingPlan;
}  // namespace highwater

namespace highwater::dist {

class GeminiStrategy : public Strategy {
 public:
  /// `model` has its parameters in 16 bits on the GPU; it and `plan` must outlive the strategy.
  GeminiStrategy(models::LanguageModel& model, const TrainingPlan& plan, const Gemini& options);
  ~GeminiStrategy() override;

  models::Outputs forward(models::Inputs inputs) override {
    gemini_->begin_iteration();
    return model_.forward(std::move(inputs));
  }

  void backward(const eager::Tensor& loss) override;

  /// Gemini clips inside step() if its own option says so; scripts must not.
  void clip_gradients() override {}

  void step() override;

  /// .grad is never set: gradients live in the chunks.
  void zero_grad() override {}

 private:
  void split(const Parallelism& parallel);
  void make_scaler();
  void barrier();
  void empty_cache();
  [[nodiscard]] std::vector<GeminiParameter> shared_parameters(const Parallelism& parallel);
  void hook_into_backward();
  void take_gradient(const eager::Tensor& parameter, const eager::Tensor& grad);
  void make_moments();

  models::LanguageModel& model_;
  eager::Runtime& runtime_;
  Gemini options_;
  ProcessGroup world_;     ///< of the barriers and the overflow flag
  ProcessGroup everyone_;  ///< replicated parameters: ProcessGroup()
  std::optional<ProcessGroup> tensor_ranks_;
  std::optional<ProcessGroup> data_ranks_;  ///< of split weights
  std::optional<TensorParallelRank> place_;
  std::vector<eager::Tensor> split_weights_;
  std::vector<eager::Tensor> flags_;  ///< small values that live as long as the optimizer
  eager::Tensor barrier_flag_;
  std::unique_ptr<ChunkManager> manager_;
  std::unique_ptr<GeminiManager> gemini_;
  std::vector<eager::Ref<eager::Node>> accumulators_;
  std::vector<eager::Tensor> moments_;
  eager::Tensor last_loss_;
  eager::Tensor scaled_loss_;
  bool ran_backward_ = false;
};

}  // namespace highwater::dist
