#include "workloads/plan/model/model_width.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include <fmt/format.h>

namespace highwater {
namespace {

constexpr std::int64_t kMostAligned = 256;

/// Far above any model; model_problems() bounds what may be built.
constexpr std::int64_t kWidest = std::int64_t{1} << 31;

constexpr std::array kScaledRoles{FieldRole::hidden, FieldRole::heads, FieldRole::kv_heads,
                                  FieldRole::embedding_width, FieldRole::ffn};

bool is_single(FieldRole role, std::int64_t size) {
  return role == FieldRole::kv_heads && size == 1;
}

/// The number of equal parts that a model can be cut into along its width.
std::int64_t width_parts(const ModelConfig& config) {
  std::int64_t parts = 0;
  for (const FieldRole role : kScaledRoles) {
    const std::int64_t size = size_of(config, role).value_or(0);
    parts = role == FieldRole::ffn || is_single(role, size) ? parts : std::gcd(parts, size);
  }
  return parts;
}

std::int64_t rounded_ffn(std::int64_t own, std::int64_t hidden, std::int64_t own_hidden) {
  const std::int64_t multiple = std::gcd(own, kMostAligned);
  const std::int64_t exact = own / multiple * hidden;
  return std::max<std::int64_t>(1, (exact + own_hidden / 2) / own_hidden) * multiple;
}

std::int64_t scaled(FieldRole role, std::int64_t own, std::int64_t hidden,
                    std::int64_t own_hidden) {
  if (is_single(role, own)) {
    return own;
  }
  return role == FieldRole::ffn
             ? rounded_ffn(own, hidden, own_hidden)
             : own / std::gcd(own, own_hidden) * hidden / (own_hidden / std::gcd(own, own_hidden));
}

void set_size(const ConfigField& field, std::int64_t size, ModelConfig& config) {
  const FieldPlace place = field.place(config.value());
  if (auto* const* const number = std::get_if<std::int64_t*>(&place)) {
    **number = size;
  } else {
    *std::get<std::optional<std::int64_t>*>(place) = size;
  }
}

std::optional<std::int64_t> size_in(const ConfigField& field, const ModelConfig& config) {
  const FieldValue value = field.value(config.value());
  const auto* const number = std::get_if<std::int64_t>(&value);
  return number != nullptr ? *number : std::get<std::optional<std::int64_t>>(value);
}

}  // namespace

std::optional<std::int64_t> width_step(const ModelSpec& model, int ranks) {
  const std::int64_t hidden = size_of(model.config, FieldRole::hidden).value_or(0);
  const std::int64_t heads = size_of(model.config, FieldRole::heads).value_or(0);
  if (hidden < 1 || heads < 1) {
    return std::nullopt;
  }
  const std::int64_t parts = width_parts(model.config);
  const std::int64_t kv_heads = size_of(model.config, FieldRole::kv_heads).value_or(heads);
  const std::int64_t in_part = std::gcd(heads / parts, kv_heads == 1 ? 0 : kv_heads / parts);
  return hidden / parts * (ranks / std::gcd<std::int64_t>(ranks, in_part));
}

std::optional<std::string> set_width(ModelSpec& model, std::int64_t hidden) {
  const auto step = width_step(model);
  if (!step) {
    return "the sizes of this model are not known; use a model of a family that 'highwater models' "
           "lists";
  }
  if (hidden < *step || hidden > kWidest || hidden % *step != 0) {
    return fmt::format("not a width of {}; use a multiple of {}", model.name, *step);
  }
  const std::int64_t own = *size_of(model.config, FieldRole::hidden);
  for (const ConfigField& field : model.config.family().fields) {
    if (std::ranges::find(kScaledRoles, field.role) == kScaledRoles.end()) {
      continue;
    }
    if (const auto size = size_in(field, model.config)) {
      set_size(field, scaled(field.role, *size, hidden, own), model.config);
    }
  }
  model.width = hidden;
  model.config_text.clear();  // it says another size
  return std::nullopt;
}

}  // namespace highwater
