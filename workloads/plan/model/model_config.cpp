#include "workloads/plan/model/model_config.hpp"

#include <algorithm>

namespace highwater {
namespace {

std::optional<FieldValue> value_of(const ModelConfig& config, FieldRole role) {
  const std::span<const ConfigField> fields = config.family().fields;
  const auto found = std::ranges::find(fields, role, &ConfigField::role);
  return found == fields.end() ? std::nullopt : std::optional(found->value(config.value()));
}

}  // namespace

std::optional<std::int64_t> size_of(const ModelConfig& config, FieldRole role) {
  const auto value = value_of(config, role);
  if (!value) {
    return std::nullopt;
  }
  const auto* const size = std::get_if<std::int64_t>(&*value);
  return size != nullptr ? *size : std::get<std::optional<std::int64_t>>(*value);
}

std::optional<double> probability_of(const ModelConfig& config, FieldRole role) {
  const auto value = value_of(config, role);
  return value ? std::optional(std::get<double>(*value)) : std::nullopt;
}

std::optional<bool> flag_of(const ModelConfig& config, FieldRole role) {
  const auto value = value_of(config, role);
  return value ? std::optional(std::get<bool>(*value)) : std::nullopt;
}

bool has_field(const ModelConfig& config, FieldRole role) {
  return value_of(config, role).has_value();
}

}  // namespace highwater
