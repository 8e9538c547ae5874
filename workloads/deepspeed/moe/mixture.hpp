// A Mixtral whose mixtures of experts are DeepSpeed's MoE layers.
//
// Every expert takes the same number of slots, its capacity; tokens that find none are dropped, and
// slots that no token takes hold zeros. Source: DeepSpeed 0.19.8, moe/layer.py (MoE),
// moe/experts.py, moe/sharded_moe.py (MOELayer, _sparse_encode, _sparse_decode, _AllToAll); the
// script is tools/python/frameworks/users/train_deepspeed_moe.py.
#pragma once

#include "workloads/models/language_model.hpp"
#include "workloads/plan/model/families/mixtral.hpp"

namespace highwater::deepspeed {

/// The loss is the model's plus a share of the gates' auxiliary losses.
std::unique_ptr<models::LanguageModel> make_mixtral(nn::ModelContext& context,
                                                    const MixtralConfig& config);

}  // namespace highwater::deepspeed
