// The model that a command line names.
#pragma once

#include <string>

#include "workloads/plan/model/model_spec.hpp"

namespace highwater {

/// `text` is a file (config.json, model record) if it ends in .json or has a slash and exists, else
/// a preset's name. @throws UsageError for unknown names, InputError for bad files
ModelSpec model_option(const std::string& text);

}  // namespace highwater
