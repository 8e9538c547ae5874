// torchtitan's LLaMA, for plans that run a LLaMA with --model-code torchtitan.
#pragma once

#include <memory>

#include "workloads/models/language_model.hpp"
#include "workloads/plan/model/torchtitan_config.hpp"

namespace highwater::models {

std::unique_ptr<LanguageModel> make_torchtitan(nn::ModelContext& context,
                                               const TorchtitanConfig& config);

}  // namespace highwater::models
