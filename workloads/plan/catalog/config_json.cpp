#include "workloads/plan/catalog/config_json.hpp"

#include <boost/json.hpp>

#include "traces/overloaded.hpp"
#include "workloads/plan/model/activation.hpp"

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

}  // namespace

std::string config_json(const ModelSpec& spec) {
  if (!spec.config_text.empty()) {
    return spec.config_text;
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
