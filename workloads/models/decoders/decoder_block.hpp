// What every block of a decoder of LLaMA's kind has: attention, feed-forward part, norms, a
// dropout. Each way of adding the parts up is a class of its own.
#pragma once

#include <memory>

#include "workloads/models/decoders/decoder.hpp"
#include "workloads/models/decoders/family_dropout.hpp"
#include "workloads/models/norm.hpp"

namespace highwater::models {

/// A norm that may be absent.
class BlockNorm {
 public:
  BlockNorm() = default;
  BlockNorm(Module* block, const char* name, const LlamaConfig& config);

  /// The states themselves where there is none.
  Tensor operator()(const Tensor& states) const { return norm_ ? (*norm_)(states) : states; }

 private:
  std::unique_ptr<Norm> norm_;
};

class DecoderBlock : public DecoderLayer {
 public:
  DecoderBlock(Module* parent, std::int64_t index, const LlamaConfig& config,
               const BlockParts& parts);

  Tensor operator()(Tensor hidden_states, const BlockInputs& inputs) const final;

 protected:
  [[nodiscard]] const LlamaConfig& config() const { return config_; }

  [[nodiscard]] const DecoderAttention& attend() const { return *self_attn_; }

  [[nodiscard]] const FeedForward& feed() const { return *mlp_; }

  [[nodiscard]] Tensor dropped(const Tensor& states) const { return dropout_(context(), states); }

 private:
  /// The block's own frame. A recomputation may leave it before its end.
  [[nodiscard]] virtual Tensor forward(Tensor hidden_states, const BlockInputs& inputs) const = 0;

  void make_norms_if(NormsMade moment);

  LlamaConfig config_;
  FamilyDropout dropout_;
  std::unique_ptr<DecoderAttention> self_attn_;
  std::unique_ptr<FeedForward> mlp_;

 protected:
  BlockNorm before_attention_;
  BlockNorm after_attention_;
  BlockNorm before_mlp_;
  BlockNorm after_mlp_;
};

/// x + attention, then x + feed-forward part: LLaMA and most others.
std::unique_ptr<DecoderLayer> make_sequential_block(Module* parent, std::int64_t index,
                                                    const LlamaConfig& config,
                                                    const BlockParts& parts);

/// Attention and feed-forward part of the same states: Cohere, Phi, StableLM.
std::unique_ptr<DecoderLayer> make_parallel_block(Module* parent, std::int64_t index,
                                                  const LlamaConfig& config,
                                                  const BlockParts& parts);

/// GPT-NeoX's and its Japanese relative's.
std::unique_ptr<DecoderLayer> make_neox_block(Module* parent, std::int64_t index,
                                              const LlamaConfig& config, const BlockParts& parts);

/// first + second + third, whose first sum dies last.
Tensor sum_of_parts(const Tensor& first, const Tensor& second, const Tensor& third);

}  // namespace highwater::models
