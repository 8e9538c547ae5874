// torchtitan's LLaMA of January 2025, which the published figures are of, for plans that run a
// LLaMA with --model-code torchtitan.
#pragma once

#include <memory>

#include "workloads/models/language_model.hpp"
#include "workloads/plan/model/torchtitan_config.hpp"

namespace highwater::torchtitan {

std::unique_ptr<models::LanguageModel> make_published_decoder(nn::ModelContext& context,
                                                              const TorchtitanConfig& config);

}  // namespace highwater::torchtitan
