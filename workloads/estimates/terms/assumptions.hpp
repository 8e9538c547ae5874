// Predicates on plans that several closed forms share, and the wording of their answers.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/estimates/terms/estimate_inputs.hpp"

namespace highwater {

/// One assumption of a form: whether the plan satisfies it, and the sentence to print if not.
struct Assumption {
  bool holds = true;
  std::string sentence;
};

/// The sentences of the assumptions that do not hold.
std::vector<std::string> broken(std::initializer_list<Assumption> assumptions);

/// A refusal if the plan computes without gradients, otherwise "".
std::string refuse_without_training(const EstimateInputs& inputs);

/// A refusal of models with an encoder besides the decoder, otherwise "".
std::string refuse_encoders(const EstimateInputs& inputs);

/// A refusal of mixtures of experts, otherwise "".
std::string refuse_mixtures(const EstimateInputs& inputs);

/// The first of several refusals that is not "".
std::string first_refusal(std::initializer_list<std::string> refusals);

/// Adam or AdamW with two moments in full precision.
bool uses_adam(const EstimateInputs& inputs);

/// No adapters: every parameter has a gradient and states.
bool trains_all(const EstimateInputs& inputs);

/// Parameters and gradients are fp16 or bf16 tensors (autocast keeps them fp32).
bool has_half_weights(const EstimateInputs& inputs);

/// 16-bit weights with fp32 copies in the optimizer: what mixed-precision training means in
/// DeepSpeed, Megatron-LM and NeMo.
bool has_master_weights(const EstimateInputs& inputs);

/// Activations are 16-bit tensors, by the weights' dtype or by autocast.
bool has_half_activations(const EstimateInputs& inputs);

/// Attention that keeps the s x s matrices of scores for backward. `sdpa` counts as fused: PyTorch
/// takes another kernel only for shapes and masks that no fused one accepts.
bool keeps_scores(const EstimateInputs& inputs);

/// Backward finds everything except attention's scores: they are recomputed, or never stored.
bool drops_only_scores(const EstimateInputs& inputs);

/// Logits of the whole micro-batch exist: the loss is neither chunked nor fused with the head.
bool keeps_logits_whole(const EstimateInputs& inputs);

/// All gradients live at the same time: the optimizer does not run inside the backward pass.
bool keeps_gradients(const EstimateInputs& inputs);

/// As many key and value heads as heads.
bool has_all_kv_heads(const EstimateInputs& inputs);

/// The job has other parallel axes than the data-parallel one.
bool splits_the_model(const EstimateInputs& inputs);

/// The assumption that the job shares states according to one of `kinds`; a single rank shares
/// nothing, so there it holds for every kind.
Assumption assumes_data_parallel(const EstimateInputs& inputs,
                                 std::initializer_list<DataParallel> kinds,
                                 std::string_view form_assumes);

}  // namespace highwater
