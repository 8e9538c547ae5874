#include "workloads/step_time/layer_sizes.hpp"

#include <algorithm>
#include <cmath>

#include "workloads/plan/model/parameter_count.hpp"

namespace highwater::timing {
namespace {

bool has_gate(const ModelConfig& config) {
  return flag_of(config, FieldRole::gated).value_or(config.family().traits.gated_mlp);
}

LayerSizes plain_sizes(const ModelSpec& model) {
  const ModelShape shape = shape_of(model);
  return {.layers = shape.layers + shape.decoder_layers,
          .hidden = shape.hidden,
          .heads = shape.heads,
          .queries = shape.heads * shape.head_dim,
          .keys = shape.kv_heads * shape.head_dim,
          .ffn = shape.ffn,
          .ffn_inputs = has_gate(model.config) ? 2 : 1,
          .experts = std::max<std::int64_t>(shape.experts, 1),
          .chosen = size_of(model.config, FieldRole::experts_per_token).value_or(1),
          .vocab = shape.vocab};
}

/// A model of unknown shape is one block with four products of its hidden size and a usual MLP.
LayerSizes block_of(double parameters) {
  const auto hidden = static_cast<std::int64_t>(std::sqrt(parameters / 12));
  return {.layers = 1,
          .hidden = hidden,
          .heads = 1,
          .queries = hidden,
          .keys = hidden,
          .ffn = 4 * hidden};
}

double expert_weights(const LayerSizes& s) {
  return static_cast<double>((s.ffn_inputs + 1) * s.hidden * s.ffn * s.experts);
}

double attention_weights_of(const LayerSizes& s) {
  return 2.0 * static_cast<double>(s.hidden) * static_cast<double>(s.queries + s.keys);
}

}  // namespace

LayerSizes layer_sizes(const ModelSpec& model) {
  const ParameterCount count = parameter_count(model.config);
  LayerSizes sizes = plain_sizes(model);
  if (sizes.layers * sizes.hidden == 0) {
    sizes = block_of(static_cast<double>(count.trainable()));
  }
  const ModelShape shape = shape_of(model);
  const double head = shape.tied ? 0 : static_cast<double>(shape.vocab * shape.hidden);
  const double of_layers = static_cast<double>(count.trainable() - count.embedding) - head;
  const double plain = attention_weights_of(sizes) + expert_weights(sizes);
  sizes.layer_parameters = of_layers / static_cast<double>(sizes.layers);
  sizes.ends_parameters = static_cast<double>(count.embedding) + head;
  sizes.stretch = plain > 0 ? sizes.layer_parameters / plain : 1;
  sizes.expert_parameters = sizes.experts > 1 ? sizes.stretch * expert_weights(sizes) : 0;
  return sizes;
}

}  // namespace highwater::timing
