// LlamaDecoderLayer: attention, then the feed-forward part, each added to what came in.
#include <utility>

#include "workloads/models/decoders/decoder_block.hpp"
#include "workloads/models/decoders/layer_inputs.hpp"

namespace highwater::models {

namespace {

// residual + part, multiplied as the family's code says.
Tensor add_part(const Tensor& residual, Tensor part, ResidualScale scale) {
  if (scale == ResidualScale::both) {
    Tensor left = eager::mul(part, 1.0);
    Tensor right = eager::mul(residual, 1.0);
    Tensor result = eager::add(left, right);
    eager::end_of_frame(left, right);
    return result;
  }
  if (scale == ResidualScale::part) {
    part = eager::mul(part, 1.0);
  }
  return eager::add(residual, part);
}

class SequentialBlock : public DecoderBlock {
 public:
  SequentialBlock(Module* parent, std::int64_t index, const LlamaConfig& config,
                  const BlockParts& parts)
      : DecoderBlock(parent, index, config, parts) {
    if (config.code->block.has_scalar) {
      const nn::InModule scope(*this);
      scalar_ = eager::empty_on(runtime(), context().place, {1}, context().dtype);
      register_buffer("layer_scalar", scalar_);
    }
    if (config.layer_input_width > 0) {
      layer_input_ = std::make_unique<LayerInputPart>(this, config);
    }
  }

 private:
  [[nodiscard]] Tensor forward(Tensor hidden_states, const BlockInputs& inputs) const override {
    Tensor residual = hidden_states;
    hidden_states = before_attention_(hidden_states);
    auto [attended, weights] = attend()(hidden_states, inputs);
    hidden_states = std::move(attended);
    hidden_states = after_attention_(hidden_states);
    hidden_states = added(residual, hidden_states);
    residual = hidden_states;
    hidden_states = before_mlp_(hidden_states);
    hidden_states = feed()(hidden_states);
    Tensor fed = config().code->block.names_fed_states ? hidden_states : Tensor{};
    hidden_states = after_mlp_(hidden_states);
    hidden_states = added(residual, hidden_states);
    if (layer_input_) {
      residual = hidden_states;
      hidden_states = (*layer_input_)(hidden_states, inputs.layer_input);
    }
    if (scalar_.defined()) {
      hidden_states = eager::mul_(hidden_states, scalar_);
    }
    eager::end_of_frame(residual, weights, fed);
    return hidden_states;
  }

  // residual + dropout(states), as far as the family has one.
  [[nodiscard]] Tensor added(const Tensor& residual, const Tensor& states) const {
    return add_part(residual, dropped(states), config().code->block.scale);
  }

  std::unique_ptr<LayerInputPart> layer_input_;
  Tensor scalar_;
};

}  // namespace

std::unique_ptr<DecoderLayer> make_sequential_block(Module* parent, std::int64_t index,
                                                    const LlamaConfig& config,
                                                    const BlockParts& parts) {
  return std::make_unique<SequentialBlock>(parent, index, config, parts);
}

}  // namespace highwater::models
