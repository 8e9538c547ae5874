#include "workloads/plan/model/model_spec.hpp"

#include <algorithm>
#include <array>

namespace highwater {
namespace {

/// 0 where a bad config would divide by 0; model_problems() reports it.
constexpr std::int64_t divide(std::int64_t a, std::int64_t b) {
  return b == 0 ? 0 : a / b;
}

constexpr std::array kDropoutRoles{FieldRole::dropout, FieldRole::residual_dropout,
                                   FieldRole::embedding_dropout, FieldRole::attention_dropout};

bool is_dropout(const ConfigField& field) {
  return std::ranges::find(kDropoutRoles, field.role) != kDropoutRoles.end();
}

}  // namespace

ModelShape shape_of(const ModelConfig& config) {
  const auto size = [&](FieldRole role, std::int64_t absent) {
    return size_of(config, role).value_or(absent);
  };
  ModelShape shape{.layers = size(FieldRole::layers, 0),
                   .hidden = size(FieldRole::hidden, 0),
                   .heads = size(FieldRole::heads, 0),
                   .vocab = size(FieldRole::vocab, 0),
                   .max_positions = size_of(config, FieldRole::max_positions),
                   .experts = size(FieldRole::experts, 0),
                   .tied = flag_of(config, FieldRole::tied).value_or(false)};
  shape.decoder_layers = has_field(config, FieldRole::decoder_layers)
                             ? size(FieldRole::decoder_layers, shape.layers)
                             : 0;
  shape.kv_heads = size(FieldRole::kv_heads, size(FieldRole::unused_kv_heads, shape.heads));
  shape.head_dim = size(FieldRole::head_dim, divide(shape.hidden, shape.heads));
  shape.ffn = size(FieldRole::ffn, 4 * shape.hidden);
  if (config.family().complete_shape != nullptr) {
    config.family().complete_shape(config.value(), shape);
  }
  return shape;
}

std::string_view family_name(const ModelConfig& config) {
  return config.family().name;
}

void set_dropout(ModelConfig& config, double probability) {
  for (const ConfigField& field : config.family().fields) {
    if (is_dropout(field)) {
      *std::get<double*>(field.place(config.value())) = probability;
    }
  }
}

}  // namespace highwater
