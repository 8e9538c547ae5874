// Brings chunks to the GPU for the operators that use them, and says what they are used for.
// Sources: colossalai/zero/gemini/{gemini_hook,gemini_mgr}.py (Colossal-AI 0.3.0).
#pragma once

#include "workloads/colossalai/placement_policy.hpp"

namespace highwater::dist {

class GeminiManager {
 public:
  /// `chunks` must outlive the manager.
  GeminiManager(eager::Runtime& runtime, ChunkManager& chunks, const Gemini& options)
      : chunks_(chunks), policy_(make_placement_policy(runtime, chunks, options)) {}

  /// pre_iter: a forward begins.
  void begin_iteration() { policy_->begin_iteration(); }

  /// switch_to_backward: parameters get gradients from now on.
  void begin_backward() { state_after_use_ = TensorState::hold_after_backward; }

  /// post_iter: backward has ended.
  void end_iteration();

  /// pre_op: an operator with these parameters is about to run.
  void before_operator(std::span<const eager::Tensor> parameters);

  /// post_op: it has run.
  void after_operator(std::span<const eager::Tensor> parameters);

  /// grad_handle.
  void take_gradient(const eager::Tensor& parameter) { chunks_.take_gradient(parameter); }

  /// _maybe_move_fp32_params: fp32 copies move to the GPU as far as there is a margin.
  void move_wide_chunks(std::span<const eager::Tensor> parameters);

 private:
  void change_states(std::span<const eager::Tensor> parameters, TensorState state);

  ChunkManager& chunks_;
  std::unique_ptr<PlacementPolicy> policy_;
  std::size_t operation_ = 0;
  TensorState state_after_use_ = TensorState::hold;
};

}  // namespace highwater::dist
