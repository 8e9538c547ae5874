// A model as the list of its parameters, which is what model.named_parameters() tells of any
// torch.nn.Module: enough for closed forms about model states, and for nothing that runs.
//
//   {"name": "Net", "largest_layer_parameters": 1049600,
//    "parameters": [{"name": "0.weight", "shape": [1024, 1024], "dtype": "float32"}, ...]}
#pragma once

#include <string_view>

#include <boost/json/fwd.hpp>

#include "workloads/plan/model/model_spec.hpp"

namespace highwater {

/// Whether a model's JSON is such a list: it has neither model_type nor family.
bool is_parameter_list(const boost::json::object& object);

/// @pre is_parameter_list(object) @throws InputError
ModelSpec read_parameter_list(const boost::json::object& object, std::string_view source);

}  // namespace highwater
