// Models described by JSON: a Hugging Face config.json as it is, the `model` object of a recording,
// or a flat config (flat_config.hpp).
//
// Absent fields get the family's default of transformers 5.12, and the spec lists them; null is an
// error where transformers fails. All bad fields are reported in one error; impossible
// combinations are model_problems()'s business.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <boost/json/fwd.hpp>

#include "workloads/plan/model/model_spec.hpp"

namespace highwater {

class JsonFields;

/// The family's defaults, but for what `fields` say; problems go to their list.
ModelConfig read_config(const Family& family, JsonFields& fields);

/// A model without a family of this program becomes one that only real PyTorch can run
/// (other_model.hpp), if its file names a model_type.
/// @throws InputError if the file cannot be read or parsed, or describes no model
ModelSpec read_model(const std::string& path);

/// The same for the text of a config.json. `source` names it in errors.
ModelSpec model_from_text(std::string_view text, std::string_view source);

/// "model_type 'phi' is not a covered family; give one of ...". @pre is_other(spec.config)
std::string why_not_covered(const ModelSpec& spec);

/// The families whose config.json is understood: "biogpt, bloom, ...".
std::string covered_families();

/// `source` names the file or recording in errors and in the spec. @throws InputError
ModelSpec model_from_json(const boost::json::value& value, std::string_view source);

}  // namespace highwater
