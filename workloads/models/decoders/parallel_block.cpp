// Blocks whose attention and feed-forward part get the same normed states: Cohere, Phi, StableLM,
// which does so only with use_parallel_residual.
#include <utility>

#include "workloads/models/decoders/decoder_block.hpp"

namespace highwater::models {

namespace {

// residual + attention + mlp
class ParallelBlock : public DecoderBlock {
 public:
  using DecoderBlock::DecoderBlock;

 private:
  [[nodiscard]] Tensor forward(Tensor hidden_states, const BlockInputs& inputs) const override {
    Tensor residual = hidden_states;
    hidden_states = before_attention_(hidden_states);
    auto [attended, weights] = attend()(hidden_states, inputs);
    Tensor fed = feed()(hidden_states);
    fed = dropped(fed);
    hidden_states = sum_of_parts(residual, attended, fed);
    eager::end_of_frame(residual, attended, weights, fed);
    return hidden_states;
  }
};

// attention + mlp + residual: PhiDecoderLayer
class ParallelLastBlock : public DecoderBlock {
 public:
  using DecoderBlock::DecoderBlock;

 private:
  [[nodiscard]] Tensor forward(Tensor hidden_states, const BlockInputs& inputs) const override {
    Tensor residual = hidden_states;
    hidden_states = before_attention_(hidden_states);
    auto [attended, weights] = attend()(hidden_states, inputs);
    attended = dropped(attended);
    Tensor fed = dropped(feed()(hidden_states));
    hidden_states = sum_of_parts(attended, fed, residual);
    eager::end_of_frame(residual, attended, weights, fed);
    return hidden_states;
  }
};

// StableLmDecoderLayer without use_parallel_residual: the attention's output keeps a name of its
// own.
class StablelmBlock : public DecoderBlock {
 public:
  using DecoderBlock::DecoderBlock;

 private:
  [[nodiscard]] Tensor forward(Tensor hidden_states, const BlockInputs& inputs) const override {
    Tensor residual = hidden_states;
    hidden_states = before_attention_(hidden_states);
    auto [attended, weights] = attend()(hidden_states, inputs);
    residual = eager::add(residual, attended);
    Tensor fed = feed()(before_mlp_(residual));
    fed = dropped(fed);
    hidden_states = eager::add(residual, fed);
    eager::end_of_frame(residual, attended, weights, fed);
    return hidden_states;
  }
};

}  // namespace

std::unique_ptr<DecoderLayer> make_parallel_block(Module* parent, std::int64_t index,
                                                  const LlamaConfig& config,
                                                  const BlockParts& parts) {
  if (config.code->block.residual == Residual::parallel_last) {
    return std::make_unique<ParallelLastBlock>(parent, index, config, parts);
  }
  if (config.code->block.residual == Residual::kept_attention && !config.use_parallel_residual) {
    return std::make_unique<StablelmBlock>(parent, index, config, parts);
  }
  return std::make_unique<ParallelBlock>(parent, index, config, parts);
}

}  // namespace highwater::models
