// GPTNeoXLayer, whose parts have norms of their own, and GPTNeoXJapaneseLayer, whose parts go
// through bias_dropout_add.
#include <utility>

#include "workloads/models/decoders/decoder_block.hpp"

namespace highwater::models {

namespace {

// mlp + attention + hidden_states
class NeoxParallelBlock : public DecoderBlock {
 public:
  using DecoderBlock::DecoderBlock;

 private:
  [[nodiscard]] Tensor forward(Tensor hidden_states, const BlockInputs& inputs) const override {
    auto [attended, weights] = attend()(before_attention_(hidden_states), inputs);
    attended = dropped(attended);
    Tensor fed = feed()(before_mlp_(hidden_states));
    fed = dropped(fed);
    hidden_states = sum_of_parts(fed, attended, hidden_states);
    eager::end_of_frame(attended, weights, fed);
    return hidden_states;
  }
};

// The same in turn, without use_parallel_residual.
class NeoxBlock : public DecoderBlock {
 public:
  using DecoderBlock::DecoderBlock;

 private:
  [[nodiscard]] Tensor forward(Tensor hidden_states, const BlockInputs& inputs) const override {
    auto [attended, weights] = attend()(before_attention_(hidden_states), inputs);
    attended = dropped(attended);
    attended = eager::add(attended, hidden_states);
    Tensor fed = feed()(before_mlp_(attended));
    fed = dropped(fed);
    hidden_states = eager::add(fed, attended);
    eager::end_of_frame(attended, weights, fed);
    return hidden_states;
  }
};

// bias_dropout_add after both parts
class NeoxJapaneseBlock : public DecoderBlock {
 public:
  using DecoderBlock::DecoderBlock;

 private:
  [[nodiscard]] Tensor forward(Tensor hidden_states, const BlockInputs& inputs) const override {
    Tensor residual = hidden_states;
    Tensor normed = before_attention_(hidden_states);
    auto [attended, weights] = attend()(normed, inputs);
    Tensor sum;
    {
      const Tensor bias = attend().output_bias();
      const Tensor biased =
          bias.defined() ? eager::add(attended, eager::expand(bias, residual.sizes())) : attended;
      const Tensor part = dropped(biased);
      sum = eager::add(residual, part);
    }
    attended = std::move(sum);
    Tensor fed = feed()(before_mlp_(attended));
    {
      const Tensor part = dropped(fed);
      attended = eager::add(attended, part);
    }
    eager::end_of_frame(hidden_states, residual, normed, weights, fed);
    return attended;
  }
};

}  // namespace

std::unique_ptr<DecoderLayer> make_neox_block(Module* parent, std::int64_t index,
                                              const LlamaConfig& config, const BlockParts& parts) {
  if (config.code->block.residual == Residual::named_dropout) {
    return std::make_unique<NeoxJapaneseBlock>(parent, index, config, parts);
  }
  if (config.use_parallel_residual) {
    return std::make_unique<NeoxParallelBlock>(parent, index, config, parts);
  }
  return std::make_unique<NeoxBlock>(parent, index, config, parts);
}

}  // namespace highwater::models
