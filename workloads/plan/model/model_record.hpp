// The project's own model description: one flat JSON object with the same words for every family
// (family, layers, hidden, heads, ...). What it does not say is the family's default.
#pragma once

#include <string_view>

#include <boost/json/fwd.hpp>

#include "workloads/plan/model/model_spec.hpp"

namespace highwater::detail {

/// @throws InputError with every bad, missing or unknown field
ModelSpec read_model_record(const boost::json::object& object, std::string_view source);

}  // namespace highwater::detail
