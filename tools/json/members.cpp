#include "tools/json/members.hpp"

#include <fmt/format.h>

namespace highwater {

// A value without a label of its own is not shown in tables, whatever it stands in.
MetricPlace MetricPlace::of(std::string_view member, std::string_view words) const {
  return {key.empty() ? std::string(member) : fmt::format("{}.{}", key, member),
          label.empty() || words.empty() ? std::string(words) : fmt::format("{} {}", label, words)};
}

namespace detail {

boost::json::object typed(std::string_view type) {
  return {{"type", type}};
}

boost::json::object or_null(boost::json::object schema) {
  if (schema.contains("type")) {
    const boost::json::value own = schema.at("type");
    schema["type"] = boost::json::array{own, "null"};
  }
  return schema;
}

boost::json::object list_of(boost::json::object items) {
  boost::json::object schema = typed("array");
  schema["items"] = std::move(items);
  return schema;
}

boost::json::object map_of(boost::json::object each) {
  boost::json::object schema = typed("object");
  schema["additionalProperties"] = std::move(each);
  return schema;
}

void add_key(boost::json::object& schema, std::string_view key, std::string_view means,
             Presence presence, boost::json::object of) {
  of["description"] = means;
  schema["properties"].as_object()[key] = std::move(of);
  if (presence == Presence::always) {
    schema["required"].as_array().emplace_back(key);
  }
}

void add_keys(boost::json::object& schema, const boost::json::object& of) {
  for (const auto& [key, property] : of.at("properties").as_object()) {
    schema["properties"].as_object()[key] = property;
  }
  for (const boost::json::value& key : of.at("required").as_array()) {
    schema["required"].as_array().push_back(key);
  }
}

boost::json::object answer_of(std::string_view command, std::string_view version,
                              const boost::json::object& keys) {
  boost::json::object schema{
      {"$schema", "https://json-schema.org/draft/2020-12/schema"},
      {"$id", version},
      {"title", fmt::format("What `highwater {} --format json` prints", command)},
      {"type", "object"},
      {"properties", {{"schema", {{"enum", boost::json::array{version}}}}}},
      {"required", boost::json::array{"schema"}}};
  add_keys(schema, keys);
  return schema;
}

}  // namespace detail
}  // namespace highwater
