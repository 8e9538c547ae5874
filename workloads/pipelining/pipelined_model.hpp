// One pipeline rank's part of a model, or its parts if it has several (an interleaved schedule).
//
// As torchtitan builds it (pipeline_llama_manual_split): each stage is a copy of the whole model,
// created on meta, without the blocks of other stages. The parts are separate models whose blocks
// keep their names from the whole model.
#pragma once

#include <memory>
#include <vector>

#include "workloads/models/language_model.hpp"

namespace highwater::pipelining {

/// Builds what the plan's rank holds of the model that `make` builds for context.part.
/// @pre context.plan.parallel.pp > 1
std::unique_ptr<models::LanguageModel> make_stage(
    nn::ModelContext& context,
    std::unique_ptr<models::LanguageModel> (*make)(nn::ModelContext& context));

/// The parts of a model that make_stage built: several, or the model itself.
std::vector<models::LanguageModel*> parts_of(models::LanguageModel& model);

}  // namespace highwater::pipelining
