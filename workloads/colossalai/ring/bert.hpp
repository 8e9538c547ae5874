// A BERT of which each rank has a part of every sequence, with ring self-attention.
//
// Layers have the shapes of Colossal-AI's example, whose norms, biases and activations are compiled
// kernels; PyTorch's operators stand for them. Source: ColossalAI's repository, examples/tutorial/
// sequence_parallel/model; Colossal-AI 0.5, legacy/nn/layer/parallel_sequence/layers.py
// (TransformerSelfAttentionRing), nn/layer/scaled_softmax.py (forward_torch_softmax). The script is
// tools/python/frameworks/users/train_ring_attention.py.
#pragma once

#include "workloads/models/language_model.hpp"
#include "workloads/plan/model/families/gpt2.hpp"

namespace highwater::colossalai {

/// `config` gives sizes and dropouts.
std::unique_ptr<models::LanguageModel> make_ring_bert(nn::ModelContext& context,
                                                      const Gpt2Config& config);

}  // namespace highwater::colossalai
