// A GPT of Colossal-AI's layers, under 2D, 2.5D or 3D tensor parallelism.
//
// Source: hpcaitech/Titans, titans/model/gpt/gpt.py and titans/layer/{block/gpt_block,
// attention/gpt_attention,embedding/gpt_embedding,mlp/transformer_mlp}.py, loss/lm_loss/
// gpt_lmloss.py; the script is tools/python/frameworks/users/train_colossalai.py. Queries, keys
// and values are one product, scores are materialised, the activation is gelu.
#pragma once

#include "workloads/models/language_model.hpp"
#include "workloads/plan/model/families/gpt2.hpp"

namespace highwater::colossalai {

std::unique_ptr<models::LanguageModel> make_gpt(nn::ModelContext& context,
                                                const Gpt2Config& config);

/// GPTLMLoss of [b, s, words] logits and [b, s] labels of the whole batch, by the model's loss.
/// @pre a GPT of make_gpt() exists
eager::Tensor shifted_loss(const eager::Tensor& logits, const eager::Tensor& labels);

}  // namespace highwater::colossalai
