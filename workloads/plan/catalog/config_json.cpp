#include "workloads/plan/catalog/config_json.hpp"

#include <boost/json.hpp>

#include "traces/overloaded.hpp"
#include "workloads/plan/model/activation.hpp"
#include "workloads/plan/model/published_weights.hpp"

namespace highwater {
namespace {

namespace json = boost::json;

/// Absent for a value that the family derives from others.
std::optional<json::value> value_json(const FieldValue& value) {
  using Result = std::optional<json::value>;
  return std::visit(
      Overloaded{[](const std::optional<std::int64_t>& size) -> Result {
                   return size ? Result(*size) : std::nullopt;
                 },
                 [](Activation activation) -> Result { return json::value(to_string(activation)); },
                 [](auto plain) -> Result { return json::value(plain); }},
      value);
}

// A script quantises weights in 16 bits itself.
std::string without_published_weights(const std::string& text) {
  json::value config = json::parse(text);
  config.as_object().erase("quantization_config");
  return json::serialize(config);
}

}  // namespace

std::string config_json(const ModelSpec& spec) {
  if (!spec.config_text.empty()) {
    return published_weights(spec) ? without_published_weights(spec.config_text) : spec.config_text;
  }
  const Family& family = spec.config.family();
  json::object object{{"model_type", family.name}};
  for (const ConfigField& field : family.fields) {
    const auto value = value_json(field.value(spec.config.value()));
    if (!field.name.empty() && value) {
      object[field.name] = *value;
    }
  }
  if (family.write_more != nullptr) {
    family.write_more(spec.config.value(), object);
  }
  return json::serialize(object);
}

}  // namespace highwater
