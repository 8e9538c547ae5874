// A head that sorts sequences into classes on a decoder (transformers 5.23, modeling_layers.py
// GenericForSequenceClassification, and the classes of GPT-2, OPT and others, which are the same):
// scores of all positions, of which that of the last token before the padding counts.
//
// The configuration has a pad token, without which batches of more than one sequence are refused.
#pragma once

#include "workloads/models/language_model.hpp"
#include "workloads/nn/layers.hpp"

namespace highwater {
struct TrainingPlan;
}

namespace highwater::models {

/// Classes of such a head; 0: the plan has a language-model head.
int label_count(const TrainingPlan& plan);

/// Puts the scores of each sequence, and the loss if there are labels, into `out`.
void classify(Outputs& out, Tensor hidden_states, const nn::Linear& score, const Inputs& inputs);

/// CrossEntropyLoss of one label a sequence.
Tensor classification_loss(const Tensor& scores, const Tensor& labels);

}  // namespace highwater::models
