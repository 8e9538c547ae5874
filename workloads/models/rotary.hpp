// Rotary position embeddings as transformers' LlamaRotaryEmbedding makes and applies them.
#pragma once

#include "workloads/nn/module.hpp"
#include "workloads/plan/model/decoder/position_code.hpp"
#include "workloads/plan/model/rope.hpp"

namespace highwater::models {

using eager::Tensor;
using nn::Module;

struct CosSin {
  Tensor cos;  ///< [batch, seq, rotary dim] in the dtype of the hidden states
  Tensor sin;
};

/// The frequencies of one kind of layer.
struct RotaryKind {
  std::int64_t width = 0;   ///< of the tables
  std::int64_t turned = 0;  ///< columns that have a frequency; the others have 0
  RopeType type = RopeType::standard;
};

/// The buffers inv_freq and original_inv_freq, and the tables of one forward.
class RotaryEmbedding : public Module {
 public:
  RotaryEmbedding(Module* parent, std::int64_t rotary_dim, RopeType type = RopeType::standard,
                  RotaryTables tables = RotaryTables::cast, std::string name = "rotary_emb");

  /// With frequencies of their own for layers with a window.
  RotaryEmbedding(Module* parent, const RotaryKind& full, const RotaryKind& windowed);

  CosSin operator()(const Tensor& x, const Tensor& position_ids) const;

  /// Of layers with a window.
  [[nodiscard]] CosSin windowed(const Tensor& x, const Tensor& position_ids) const;

  /// PreTrainedModel._init_weights computes the frequencies once more and copies them.
  void initialize_again() const;

 private:
  void make_buffers();
  [[nodiscard]] Tensor inverse_frequencies(const RotaryKind& kind) const;
  [[nodiscard]] Tensor standard_frequencies(const RotaryKind& kind) const;
  [[nodiscard]] Tensor proportional_frequencies(const RotaryKind& kind) const;
  [[nodiscard]] Tensor even_numbers(const RotaryKind& kind) const;
  [[nodiscard]] Tensor llama3_frequencies(const RotaryKind& kind) const;
  [[nodiscard]] Tensor make(const RotaryKind& kind, DType dtype) const;
  [[nodiscard]] CosSin tables_of(const Tensor& x, const Tensor& position_ids,
                                 const Tensor& frequencies) const;

  RotaryKind full_;
  RotaryKind windowed_;
  RotaryTables tables_;
  Tensor inv_freq_;
  Tensor windowed_inv_freq_;
  Tensor original_inv_freq_;
};

/// cat((-x2, x1)) of the halves of the last dimension.
Tensor rotate_half(const Tensor& x);

/// x * cos + rotate_half(x) * sin.
Tensor apply_rotary(const Tensor& x, const Tensor& cos, const Tensor& sin);

}  // namespace highwater::models
