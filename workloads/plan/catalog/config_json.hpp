// A model as transformers reads it: the text of a config.json.
#pragma once

#include <string>

#include "workloads/plan/model/model_spec.hpp"

namespace highwater {

/// The file's own text where the model is from a config.json, but for weights in 4 or 8 bits, which
/// are options of a plan; else every field of its family.
std::string config_json(const ModelSpec& spec);

}  // namespace highwater
