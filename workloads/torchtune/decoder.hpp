// torchtune's decoder for LLaMA and the families that it builds of the same layers: Mistral, Qwen2.
//
// Source: torchtune 0.6.1, modules/{transformer,attention,feed_forward,rms_norm,tied_linear,
// position_embeddings}.py, models/llama3_1/_position_embeddings.py,
// models/qwen2/_positional_embeddings.py; the order of construction is that of the builders
// (models/*/_component_builders.py). Norms run in fp32 and keep two fp32 tensors each, positions
// come from one table that all layers share, keys and values are repeated for each query's head.
#pragma once

#include <memory>

#include "workloads/models/language_model.hpp"
#include "workloads/plan/model/families/llama.hpp"

namespace highwater::torchtune {

std::unique_ptr<models::LanguageModel> make_decoder(nn::ModelContext& context,
                                                    const LlamaConfig& config);

}  // namespace highwater::torchtune
