// torchtitan's LLaMA of release 0.3: one product for queries, keys and values, fused RMSNorm,
// complex rotation by positions, flex_attention, an untied head that the loss applies.
//
// Source: torchtitan 0.3, models/llama3/model.py, models/common/{attention,decoder,feed_forward,
// nn_modules,rope}.py; initial values as init_states sets them (models/llama3/__init__.py,
// models/common/config_utils.py; torch 2.15, nn/init.py _no_grad_trunc_normal_).
#pragma once

#include <memory>

#include "workloads/models/language_model.hpp"
#include "workloads/plan/model/torchtitan_config.hpp"

namespace highwater::torchtitan {

std::unique_ptr<models::LanguageModel> make_decoder(nn::ModelContext& context,
                                                    const TorchtitanConfig& config);

/// The model that --model-code torchtitan runs, in the plan's release.
/// @pre the plan's family has one
std::unique_ptr<models::LanguageModel> make_model(nn::ModelContext& context);

}  // namespace highwater::torchtitan
