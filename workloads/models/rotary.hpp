// Rotary position embeddings as transformers' LlamaRotaryEmbedding makes and applies them.
#pragma once

#include "workloads/nn/module.hpp"
#include "workloads/plan/model/families/decoder_code.hpp"
#include "workloads/plan/model/rope.hpp"

namespace highwater::models {

using eager::Tensor;
using nn::Module;

struct CosSin {
  Tensor cos;  ///< [batch, seq, rotary dim] in the dtype of the hidden states
  Tensor sin;
};

/// The buffers inv_freq and original_inv_freq, and the tables of one forward.
class RotaryEmbedding : public Module {
 public:
  RotaryEmbedding(Module* parent, std::int64_t rotary_dim, RopeType type = RopeType::standard,
                  RotaryTables tables = RotaryTables::cast, std::string name = "rotary_emb");

  CosSin operator()(const Tensor& x, const Tensor& position_ids) const;

  /// PreTrainedModel._init_weights computes the frequencies once more and copies them.
  void initialize_again() const;

 private:
  [[nodiscard]] Tensor inverse_frequencies() const;
  [[nodiscard]] Tensor standard_frequencies() const;
  [[nodiscard]] Tensor even_numbers() const;
  [[nodiscard]] Tensor llama3_frequencies() const;
  [[nodiscard]] Tensor make(DType dtype) const;

  std::int64_t rotary_dim_;
  RopeType type_;
  RotaryTables tables_;
  Tensor inv_freq_;
  Tensor original_inv_freq_;
};

/// cat((-x2, x1)) of the halves of the last dimension.
Tensor rotate_half(const Tensor& x);

/// x * cos + rotate_half(x) * sin.
Tensor apply_rotary(const Tensor& x, const Tensor& cos, const Tensor& sin);

}  // namespace highwater::models
