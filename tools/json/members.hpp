// The keys of a JSON object, a row each: name, meaning and value. What a command prints, what
// `highwater schema` says of it, the classes of the Python module and the lines of a report's table
// all come from these rows, so that none of them lacks a key or describes another type.
//
//   template <>
//   struct Members<Usage> {
//     static constexpr auto kRows = std::to_array({
//         member<&Usage::reserved>("reserved_bytes", "taken from the device", "reserved"), ...});
//   };
//
// The types follow from C++: numbers, Bytes, bool and text; an optional value is null where it is
// absent; a vector is a list, a JsonMap an object whose keys are data, and a struct with rows an
// object. Dialect of the schemas: https://json-schema.org/draft/2020-12/schema
#pragma once

#include <array>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include "tools/text/metrics.hpp"

namespace highwater {

/// The rows of an object, specialised for its struct: `kRows`, an array of MemberRow.
template <class T>
struct Members;

/// An object whose keys are data, such as the names of categories.
template <class T>
struct JsonMap {
  std::vector<std::pair<std::string, T>> members;
};

enum class Presence {
  always,
  if_known  ///< the key is left out where the value is absent
};

/// Where the metrics of an object belong: in front of its keys and labels.
struct MetricPlace {
  std::string key;
  std::string label;

  [[nodiscard]] MetricPlace of(std::string_view member, std::string_view words) const;
};

template <class T>
struct MemberRow {
  std::string_view key;    ///< empty: the keys of the value are keys of the object itself
  std::string_view means;  ///< with unit; the description in the schema
  std::string_view label;  ///< in tables
  Presence presence = Presence::always;
  /// Nothing where the key is left out.
  std::optional<boost::json::value> (*json)(const T&) = nullptr;
  boost::json::object (*schema)() = nullptr;
  void (*metrics)(const T&, const MetricPlace&, MetricList&) = nullptr;
};

/// Any value that a row may have.
template <class T>
boost::json::value value_json(const T& value);
template <class T>
boost::json::object object_json(const T& of);
template <class T>
boost::json::object object_schema();
template <class T>
void add_metrics(const T& of, const MetricPlace& place, MetricList& list);

namespace detail {

template <class T>
concept HasMembers = requires {
  Members<T>::kRows;
};

template <class T>
constexpr bool kIsOptional = false;
template <class T>
constexpr bool kIsOptional<std::optional<T>> = true;
template <class T>
constexpr bool kIsVector = false;
template <class T>
constexpr bool kIsVector<std::vector<T>> = true;
template <class T>
constexpr bool kIsMap = false;
template <class T>
constexpr bool kIsMap<JsonMap<T>> = true;

template <class T>
concept IsJson = std::same_as<T, boost::json::value> || std::same_as<T, boost::json::object> ||
    std::same_as<T, boost::json::array>;

/// {"type": type}
boost::json::object typed(std::string_view type);
/// The same that may be null as well.
boost::json::object or_null(boost::json::object schema);
boost::json::object list_of(boost::json::object items);
boost::json::object map_of(boost::json::object each);
/// Adds a key to the schema of an object.
void add_key(boost::json::object& schema, std::string_view key, std::string_view means,
             Presence presence, boost::json::object of);
/// The schema of a whole answer, of the keys that it has beside "schema".
boost::json::object answer_of(std::string_view command, std::string_view version,
                              const boost::json::object& keys);
/// Adds all keys of another object.
void add_keys(boost::json::object& schema, const boost::json::object& of);

template <class T>
boost::json::object schema_of() {
  if constexpr (HasMembers<T>) {
    return object_schema<T>();
  } else if constexpr (kIsOptional<T>) {
    return or_null(schema_of<typename T::value_type>());
  } else if constexpr (kIsVector<T>) {
    return list_of(schema_of<typename T::value_type>());
  } else if constexpr (kIsMap<T>) {
    return map_of(schema_of<typename decltype(T::members)::value_type::second_type>());
  } else if constexpr (std::same_as<T, boost::json::object>) {
    return typed("object");
  } else if constexpr (std::same_as<T, boost::json::array>) {
    return typed("array");
  } else if constexpr (IsJson<T>) {
    return {};  // anything
  } else if constexpr (std::same_as<T, bool>) {
    return typed("boolean");
  } else if constexpr (std::same_as<T, Bytes> || std::integral<T>) {
    return typed("integer");
  } else if constexpr (std::floating_point<T>) {
    return typed("number");
  } else {
    static_assert(std::is_convertible_v<T, std::string_view>);
    return typed("string");
  }
}

template <class T>
constexpr bool kIsScalar =
    !HasMembers<T> && !kIsOptional<T> && !kIsVector<T> && !kIsMap<T> && !IsJson<T>;
template <class T>
constexpr bool kIsScalar<std::optional<T>> = kIsScalar<T>;

/// Lists, maps and objects that may be null stand in JSON alone.
template <class T>
void add_metrics_of(const T& value, const MetricPlace& place, MetricList& list) {
  if constexpr (HasMembers<T>) {
    add_metrics(value, place, list);
  } else if constexpr (kIsScalar<T> && kIsOptional<T>) {
    list.add(place.key, place.label, value ? metric_value(*value) : MetricValue());
  } else if constexpr (kIsScalar<T>) {
    list.add(place.key, place.label, metric_value(value));
  }
}

template <class Get>
struct GetterOf : GetterOf<decltype(&Get::operator())> {};

template <class T, class Value>
struct GetterOf<Value T::*> {
  using Owner = T;
};

template <class Lambda, class Value, class T>
struct GetterOf<Value (Lambda::*)(const T&) const> {
  using Owner = T;
};

template <class T, class Value>
struct GetterOf<Value (T::*)() const> {
  using Owner = T;
};

template <class T, class Value>
struct GetterOf<Value (*)(const T&)> {
  using Owner = T;
};

template <auto kGet>
using OwnerOf = typename GetterOf<std::remove_cv_t<decltype(kGet)>>::Owner;
template <auto kGet>
using ValueOf = std::remove_cvref_t<std::invoke_result_t<decltype(kGet), const OwnerOf<kGet>&>>;

}  // namespace detail

template <class T>
boost::json::value value_json(const T& value) {
  if constexpr (detail::HasMembers<T>) {
    return object_json(value);
  } else if constexpr (detail::kIsOptional<T>) {
    return value ? value_json(*value) : boost::json::value(nullptr);
  } else if constexpr (detail::kIsVector<T>) {
    boost::json::array list;
    for (const auto& each : value) {
      list.push_back(value_json(each));
    }
    return list;
  } else if constexpr (detail::kIsMap<T>) {
    boost::json::object map;
    for (const auto& [key, each] : value.members) {
      map[key] = value_json(each);
    }
    return map;
  } else if constexpr (detail::IsJson<T>) {
    return value;
  } else {
    return to_json(detail::metric_value(value));
  }
}

/// A key that every object has. `kGet`: a member, or a function of the object. `label`: in tables,
/// behind that of what the object stands in; empty: not shown there.
template <auto kGet>
constexpr MemberRow<detail::OwnerOf<kGet>> member(std::string_view key, std::string_view means,
                                                  std::string_view label = {}) {
  using Owner = detail::OwnerOf<kGet>;
  using Value = detail::ValueOf<kGet>;
  return {key,
          means,
          label,
          Presence::always,
          [](const Owner& of) { return std::optional(value_json<Value>(std::invoke(kGet, of))); },
          &detail::schema_of<Value>,
          [](const Owner& of, const MetricPlace& place, MetricList& list) {
            detail::add_metrics_of<Value>(std::invoke(kGet, of), place, list);
          }};
}

/// A key that is left out where `kGet` has no value.
template <auto kGet>
constexpr MemberRow<detail::OwnerOf<kGet>> member_if_known(std::string_view key,
                                                           std::string_view means,
                                                           std::string_view label = {}) {
  using Owner = detail::OwnerOf<kGet>;
  using Value = typename detail::ValueOf<kGet>::value_type;
  return {key,
          means,
          label,
          Presence::if_known,
          [](const Owner& of) -> std::optional<boost::json::value> {
            const auto& value = std::invoke(kGet, of);
            return value ? std::optional(value_json<Value>(*value)) : std::nullopt;
          },
          &detail::schema_of<Value>,
          [](const Owner& of, const MetricPlace& place, MetricList& list) {
            if (const auto& value = std::invoke(kGet, of)) {
              detail::add_metrics_of<Value>(*value, place, list);
            }
          }};
}

/// All keys of a part, as keys of the object itself.
template <auto kGet>
constexpr MemberRow<detail::OwnerOf<kGet>> members_of() {
  return member<kGet>({}, {});
}

template <class T>
boost::json::object object_json(const T& of) {
  boost::json::object object;
  for (const MemberRow<T>& row : Members<T>::kRows) {
    std::optional<boost::json::value> value = row.json(of);
    if (!value) {
      continue;
    }
    if (!row.key.empty()) {
      object[row.key] = *std::move(value);
      continue;
    }
    for (auto& [key, member] : value->as_object()) {
      object[key] = std::move(member);
    }
  }
  return object;
}

/// The schema of an object, with the description of every key.
template <class T>
boost::json::object object_schema() {
  boost::json::object schema = detail::typed("object");
  schema["properties"].emplace_object();
  schema["required"].emplace_array();
  for (const MemberRow<T>& row : Members<T>::kRows) {
    if (row.key.empty()) {
      detail::add_keys(schema, row.schema());
    } else {
      detail::add_key(schema, row.key, row.means, row.presence, row.schema());
    }
  }
  return schema;
}

/// The schema of what a command prints: `highwater COMMAND --format json`, of `version`
/// ("highwater.replay/1").
template <class T>
boost::json::object answer_schema(std::string_view command, std::string_view version) {
  return detail::answer_of(command, version, object_schema<T>());
}

/// The scalars of an object and of its parts, for tables and CSV.
template <class T>
void add_metrics(const T& of, const MetricPlace& place, MetricList& list) {
  for (const MemberRow<T>& row : Members<T>::kRows) {
    row.metrics(of, row.key.empty() ? place : place.of(row.key, row.label), list);
  }
}

}  // namespace highwater
