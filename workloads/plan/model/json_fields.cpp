#include "workloads/plan/model/json_fields.hpp"

#include <cmath>

#include <fmt/format.h>

namespace highwater {
namespace {

namespace json = boost::json;

/// A value short enough for a message.
std::string shown(const json::value& value) {
  constexpr std::size_t kLongest = 40;
  std::string text =
      value.is_double() ? fmt::format("{}", value.get_double()) : json::serialize(value);
  if (text.size() > kLongest) {
    text = text.substr(0, kLongest) + "...";
  }
  return text;
}

}  // namespace

const json::value* JsonFields::find(std::string_view key) const {
  const auto* const found = object_->find(json::string_view(key.data(), key.size()));
  return found == object_->end() || found->value().is_null() ? nullptr : &found->value();
}

bool JsonFields::is_null(std::string_view key) const {
  const auto* const found = object_->find(json::string_view(key.data(), key.size()));
  return found != object_->end() && found->value().is_null();
}

std::optional<JsonFields> JsonFields::child(std::string_view key) {
  const json::value* const value = find(key);
  if (value == nullptr) {
    return std::nullopt;
  }
  if (!value->is_object()) {
    add_problem(key, "is " + shown(*value) + ", not an object");
    return std::nullopt;
  }
  return JsonFields(value->get_object(), path_ + std::string(key) + ".", *problems_, *gaps_);
}

const json::array* JsonFields::array(std::string_view key) {
  const json::value* const value = find(key);
  if (value != nullptr && !value->is_array()) {
    add_problem(key, "is " + shown(*value) + ", not a list");
    return nullptr;
  }
  return value == nullptr ? nullptr : &value->get_array();
}

std::string JsonFields::text(std::string_view key) {
  const json::value* const value = find(key);
  if (value == nullptr) {
    return {};
  }
  if (!value->is_string()) {
    add_problem(key, "is " + shown(*value) + ", not a string");
    return {};
  }
  return std::string(value->get_string().data(), value->get_string().size());
}

void JsonFields::add_problem(std::string_view key, std::string_view problem) {
  problems_->push_back(fmt::format("{}{} {}", path_, key, problem));
}

void JsonFields::add_gap(std::string_view key, std::string_view gap) {
  gaps_->push_back(fmt::format("{}{} {}", path_, key, gap));
}

void JsonFields::assign(std::int64_t& out, std::string_view key, const json::value& value) {
  constexpr double kLargest = 1099511627776.0;  // 2^40: no size is near it, and its multiples fit
  const double number = value.is_number() ? value.to_number<double>() : 0.5;
  if (std::trunc(number) != number) {
    add_problem(key, "is " + shown(value) + ", not a whole number");
  } else if (std::abs(number) > kLargest) {
    add_problem(key, "is " + shown(value) + ", which is too large");
  } else {
    out = static_cast<std::int64_t>(number);
  }
}

void JsonFields::assign(double& out, std::string_view key, const json::value& value) {
  if (!value.is_number()) {
    add_problem(key, "is " + shown(value) + ", not a number");
    return;
  }
  out = value.to_number<double>();
}

void JsonFields::assign(bool& out, std::string_view key, const json::value& value) {
  if (!value.is_bool()) {
    add_problem(key, "is " + shown(value) + ", neither true nor false");
    return;
  }
  out = value.get_bool();
}

void JsonFields::assign(Activation& out, std::string_view key, const json::value& value) {
  const auto activation =
      value.is_string()
          ? parse_activation(std::string_view(value.get_string().data(), value.get_string().size()))
          : std::nullopt;
  if (!activation) {
    const std::string text =
        "is " + shown(value) + ", not one of relu, relu2, gelu, gelu_new, gelu_pytorch_tanh, silu";
    value.is_string() ? add_gap(key, text) : add_problem(key, text);
    return;
  }
  out = *activation;
}

}  // namespace highwater
