// Descriptions of models for tests: texts, read as a file's would be, and what the reference
// counted.
#pragma once

#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include <boost/json.hpp>

#include "traces/error.hpp"
#include "workloads/plan/catalog/hf_config.hpp"

namespace highwater::test {

inline ModelSpec model_from_text(const std::string& text) {
  return model_from_json(boost::json::parse(text), "test.json");
}

/// What reading it says, "no error" if nothing.
inline std::string model_text_error(const std::string& text) {
  try {
    model_from_text(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

/// The models of a file of tests/data/models, each with its parameters as transformers or the
/// publisher's own code counts them.
inline boost::json::array reference_models(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(HIGHWATER_TEST_DATA "/models/" + file).rdbuf();
  return boost::json::parse(text.str()).as_array();
}

/// A reference model's parameters of one kind, 0 if it has none.
inline std::int64_t parameters_of(const boost::json::value& model, std::string_view kind) {
  const boost::json::value* const value = model.at("params_by_kind").as_object().if_contains(kind);
  return value == nullptr ? 0 : value->as_int64();
}

}  // namespace highwater::test
