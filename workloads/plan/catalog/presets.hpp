// Models by name: every published size that the reference data and the recordings use, each with
// the place its config is from. workloads/facts/models.json lists them (listed_models.hpp).
//
// Names are those of the model cards in lower case; aliases and hub ids ("facebook/opt-125m") lead
// to the same entries, in any case.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "workloads/plan/model/model_spec.hpp"

namespace highwater {

/// All presets, in the order of the list.
std::span<const ModelSpec> model_presets();

/// The preset called `name` (a name, an alias or a hub id), or nullptr.
const ModelSpec* find_model_preset(std::string_view name);

/// Why find_model_preset() found nothing, with the nearest names.
std::string unknown_model(std::string_view name);

/// As find_model_preset. @throws UsageError with the nearest names
const ModelSpec& model_preset(std::string_view name);

}  // namespace highwater
