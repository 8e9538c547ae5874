#include "workloads/models/decoders/decoder_block.hpp"

#include <utility>

namespace highwater::models {

BlockNorm::BlockNorm(Module* block, const char* name, const LlamaConfig& config)
    : norm_(name == nullptr ? nullptr
                            : std::make_unique<Norm>(block, name, config.hidden_size,
                                                     config.code->block.norm)) {}

DecoderBlock::DecoderBlock(Module* parent, std::int64_t index, const LlamaConfig& config,
                           const BlockParts& parts)
    : DecoderLayer(parent, std::to_string(index)),
      config_(config),
      dropout_(block_dropout(config)) {
  make_norms_if(NormsMade::first);
  self_attn_ = parts.make_attention(this);
  make_norms_if(NormsMade::in_between);
  mlp_ = parts.make_mlp(this);
  make_norms_if(NormsMade::last);
}

// What the frame holds when a recomputation leaves it is freed within the module.
Tensor DecoderBlock::operator()(Tensor hidden_states, const BlockInputs& inputs) const {
  const nn::InModule scope(*this);
  return forward(std::move(hidden_states), inputs);
}

void DecoderBlock::make_norms_if(NormsMade moment) {
  if (config_.code->block.norms_made != moment) {
    return;
  }
  const BlockNorms norms = norms_of(config_);
  before_attention_ = BlockNorm(this, norms.before_attention, config_);
  after_attention_ = BlockNorm(this, norms.after_attention, config_);
  before_mlp_ = BlockNorm(this, norms.before_mlp, config_);
  after_mlp_ = BlockNorm(this, norms.after_mlp, config_);
}

Tensor sum_of_parts(const Tensor& first, const Tensor& second, const Tensor& third) {
  const Tensor two = eager::add(first, second);
  return eager::add(two, third);
}

std::unique_ptr<DecoderLayer> make_decoder_layer(Module* parent, std::int64_t index,
                                                 const LlamaConfig& config,
                                                 const BlockParts& parts) {
  switch (config.code->block.residual) {
    case Residual::sequential:
      break;
    case Residual::parallel:
    case Residual::parallel_last:
    case Residual::kept_attention:
      return make_parallel_block(parent, index, config, parts);
    case Residual::two_norms:
    case Residual::named_dropout:
      return make_neox_block(parent, index, config, parts);
  }
  return make_sequential_block(parent, index, config, parts);
}

}  // namespace highwater::models
