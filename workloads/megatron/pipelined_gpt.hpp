// The model chunks of one pipeline stage (training.py: get_model, a list with one GPTModel per
// virtual stage), and which part of the model each of them has.
#pragma once

#include <memory>

#include "workloads/megatron/gpt_model.hpp"

namespace highwater::megatron {

/// The plan's rank's part of the model: all of it without a pipeline.
/// @pre config_of(context.plan.model.config) has a value
std::unique_ptr<models::LanguageModel> make_stage(nn::ModelContext& context);

}  // namespace highwater::megatron
