// What follows the decoder: the head and the loss, in the variants that a plan can ask for.
//
// Sources: transformers' ...ForCausalLM classes and loss/loss_utils.py, by release
// (version_profile.hpp); torchtune 0.6.1, CEWithChunkedOutputLoss with
// TransformerDecoder.chunked_output and the recipe's _loss_step; liger-kernel 0.5.10,
// LigerFusedLinearCrossEntropyFunction with LigerForCausalLMLoss, its Triton kernels left out
// because they allocate nothing.
#pragma once

#include <functional>

#include "workloads/models/language_model.hpp"
#include "workloads/nn/layers.hpp"
#include "workloads/plan/loss.hpp"

namespace highwater {
struct TrainingPlan;
}

namespace highwater::models {

/// The end of a ...ForCausalLM's forward: puts logits, and the loss if there are labels, into
/// `out`.
void head_and_loss(Outputs& out, Tensor hidden_states, const nn::Linear& head,
                   const Tensor& labels);

/// hidden_states[:, slice, :], all of it.
Tensor slice_for_head(const Tensor& hidden_states);

/// The head of a decoder that takes no labels: logits, or chunks of them.
void head_only(Outputs& out, Tensor hidden_states, const nn::Linear& head);

/// Cross entropy outside of the model, of all logits or (LossKind::shift) of a shifted copy.
Tensor outside_loss(Tensor logits, Tensor labels, LossKind kind);

/// The function that a ...ForCausalLM computes its loss with (model.loss_function), called outside.
Tensor causal_lm_loss(Tensor logits, Tensor labels, const TrainingPlan& plan);

/// The head applied to `chunks` parts of the sequence (TransformerDecoder.chunked_output).
std::vector<Tensor> chunked_output(const Tensor& hidden_states, std::int64_t chunks,
                                   const std::function<Tensor(const Tensor&)>& head);

/// Labels of the next tokens, where chunks of logits are of all of them; `ignored` is a [batch, 1]
/// tensor (torchtune's _loss_step).
Tensor labels_of_next(const Tensor& labels, const Tensor& ignored);

/// CEWithChunkedOutputLoss: the chunks are freed from the last to the first once the loss is there.
Tensor chunked_loss(std::vector<Tensor>& logit_chunks, const Tensor& labels);

}  // namespace highwater::models
