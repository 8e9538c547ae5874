#include "workloads/models/decoders/layer_tables.hpp"

#include "workloads/models/decoders/layer_masks.hpp"

namespace highwater::models {

namespace {

RotaryKind kind_without_window(const LlamaConfig& config) {
  const std::int64_t width = *config.global_head_dim;
  const double share = config.rope_parameters.partial_rotary_factor;
  const auto angles = static_cast<std::int64_t>(share * static_cast<double>(width) / 2.0);
  return {.width = width, .turned = 2 * angles, .type = RopeType::proportional};
}

RotaryKind kind_with_window(const LlamaConfig& config) {
  return {.width = head_dim_of(config), .turned = head_dim_of(config)};
}

std::unique_ptr<RotaryEmbedding> make_rotary(Module* parent, const LlamaConfig& config,
                                             const char* name) {
  if (config.global_head_dim) {
    return std::make_unique<RotaryEmbedding>(parent, kind_without_window(config),
                                             kind_with_window(config));
  }
  return std::make_unique<RotaryEmbedding>(parent, rotary_dim_of(config),
                                           config.rope_parameters.rope_type,
                                           config.code->positions.tables, name);
}

// torch.exp(0.1 * torch.log1p((position_ids.float() + 1) / 2048))[:, None, :, None]
Tensor query_scale_of(const Tensor& position_ids) {
  Tensor numbers = eager::to_dtype(position_ids, DType::fp32);
  for (const char* op : {"add", "div", "log1p", "mul", "exp"}) {
    numbers = eager::pointwise(op, {numbers}, DType::fp32);
  }
  return eager::unsqueeze(eager::unsqueeze(numbers, 1), 3);
}

}  // namespace

TableMakers::TableMakers(Module* model, const LlamaConfig& config)
    : config_(config), first_(make_rotary(model, config, "rotary_emb")) {
  if (config.code->positions.modules == TableModules::second_used) {
    others_ = std::make_unique<nn::Container>(model, "rotary_embs");
    second_ = make_rotary(others_.get(), config, "0");
  }
}

void TableMakers::initialize_again() const {
  first_->initialize_again();
  if (second_) {
    second_->initialize_again();
  }
}

LayerTables TableMakers::make(const Tensor& states, const Tensor& position_ids) const {
  LayerTables tables;
  if (config_.code->attention.query_scale == QueryScale::of_unrotated) {
    tables.query_scale = query_scale_of(position_ids);
  }
  const RotaryEmbedding& rotary = second_ ? *second_ : *first_;
  tables.all = rotary(states, position_ids);
  if (has_tables_per_kind(config_.code->positions.tables) && any_window(config_)) {
    tables.windowed = rotary.windowed(states, position_ids);
  }
  return tables;
}

}  // namespace highwater::models
