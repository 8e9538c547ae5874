#include "workloads/sources/observed_facts.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "traces/parse_text.hpp"

namespace highwater {
namespace {

namespace json = boost::json;

constexpr std::size_t kLongestShown = 60;
constexpr std::string_view kInfinity = "Infinity";

const json::value* step_into(const json::value& value, const std::string& name) {
  if (const json::object* object = value.if_object()) {
    return object->if_contains(name);
  }
  const json::array* array = value.if_array();
  const auto place = parse_number<std::size_t>(name);
  return array != nullptr && place && *place < array->size() ? &(*array)[*place] : nullptr;
}

}  // namespace

const json::value* ObservedFacts::find(std::string_view path) const {
  const json::value* value = root_;
  for (const std::string& name : split(path, '.')) {
    value = step_into(*value, name);
    if (value == nullptr || value->is_null()) {
      return nullptr;
    }
  }
  return value;
}

std::optional<std::string> ObservedFacts::text(std::string_view path) const {
  const json::value* value = find(path);
  return value != nullptr && value->is_string() ? std::optional(std::string(value->get_string()))
                                                : std::nullopt;
}

std::optional<double> ObservedFacts::number(std::string_view path) const {
  const json::value* value = find(path);
  if (text(path) == kInfinity) {
    return std::numeric_limits<double>::infinity();
  }
  return value != nullptr && value->is_number() ? std::optional(value->to_number<double>())
                                                : std::nullopt;
}

std::optional<std::int64_t> ObservedFacts::whole(std::string_view path) const {
  const json::value* value = find(path);
  return value != nullptr && value->is_int64() ? std::optional(value->get_int64()) : std::nullopt;
}

std::optional<bool> ObservedFacts::flag(std::string_view path) const {
  const json::value* value = find(path);
  return value != nullptr && value->is_bool() ? std::optional(value->get_bool()) : std::nullopt;
}

std::vector<std::int64_t> ObservedFacts::wholes(std::string_view path) const {
  std::vector<std::int64_t> numbers;
  const json::value* value = find(path);
  const json::array* array = value == nullptr ? nullptr : value->if_array();
  for (const json::value& item : array == nullptr ? json::array() : *array) {
    if (item.is_int64()) {
      numbers.push_back(item.get_int64());
    }
  }
  return numbers;
}

std::string ObservedFacts::most(std::string_view path) const {
  const json::value* value = find(path);
  const json::object* counts = value == nullptr ? nullptr : value->if_object();
  std::string name;
  std::int64_t largest = -1;
  for (const auto& [key, count] : counts == nullptr ? json::object() : *counts) {
    if (count.is_int64() && count.get_int64() > largest) {
      name = key;
      largest = count.get_int64();
    }
  }
  return name;
}

std::string ObservedFacts::shown(std::string_view path) const {
  const json::value* value = find(path);
  std::string text = value == nullptr     ? "none"
                     : value->is_string() ? std::string(value->get_string())
                     : value->is_double() ? fmt::format("{}", value->get_double())
                                          : json::serialize(*value);
  return text.size() <= kLongestShown ? text : text.substr(0, kLongestShown - 3) + "...";
}

}  // namespace highwater
