// Megatron-Core's GPTModel, in whole or one pipeline stage of it, as a model that computes its own
// loss (core/models/gpt/gpt_model.py of 0.16.1; pretrain_gpt.py: forward_step, loss_func).
#pragma once

#include <memory>
#include <string>

#include "workloads/models/language_model.hpp"
#include "workloads/plan/model/megatron_config.hpp"

namespace highwater::megatron {

/// Which part of the model a rank has.
struct Stage {
  std::int64_t first_layer = 0;
  std::int64_t layers = 0;
  bool has_embedding = true;  ///< pre_process
  bool has_head = true;       ///< post_process: final norm, head and loss
};

/// @pre config_of(context.plan.model.config) has a value, equal to `config`
std::unique_ptr<models::LanguageModel> make_gpt(nn::ModelContext& context, const Config& config,
                                                const Stage& stage);

/// The same as a child of `parent`: one of several chunks.
std::unique_ptr<models::LanguageModel> make_gpt(nn::Module& parent, std::string name,
                                                const Config& config, const Stage& stage);

/// Parameters whose gradients sequence parallelism leaves partial on each rank: norms, biases that
/// are added to a part of the sequence, and weights of which every rank has the whole
/// (param.sequence_parallel).
bool has_partial_gradient(const nn::NamedTensor& parameter);

}  // namespace highwater::megatron
