// The project's own description of a model: one flat JSON object with the same words for every
// family (family, layers, hidden, heads, ...; README of the folder). What it leaves out is the
// family's default.
#pragma once

#include <string_view>

#include <boost/json/fwd.hpp>

#include "workloads/plan/model/model_spec.hpp"

namespace highwater {

/// @throws InputError with every bad, missing or unknown field
ModelSpec read_flat_config(const boost::json::object& object, std::string_view source);

}  // namespace highwater
