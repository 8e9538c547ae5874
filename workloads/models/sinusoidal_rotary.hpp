// Rotary positions as GPT-J and CodeGen apply them: pairs of neighbouring elements turned by a
// table of sines and cosines (modeling_gptj.py and modeling_codegen.py of transformers 5.12
// to 5.24). Each layer has a table of its own before 5.24.
#pragma once

#include "workloads/nn/module.hpp"

namespace highwater::models {

using eager::Tensor;

/// create_sinusoidal_positions: [positions, dim] in fp32, where the model is built.
Tensor sinusoidal_positions(const nn::ModelContext& context, std::int64_t positions,
                            std::int64_t dim);

struct SinCos {
  Tensor sin;  ///< [1, seq, rotary dim / 2]
  Tensor cos;
};

/// The halves of rows of the table.
SinCos halves(const Tensor& sincos);

enum class SinusoidalType : std::uint8_t { of_states, fp32 };

/// GPTJRotaryEmbedding, CodeGenRotaryEmbedding (5.24): one table, whose rows are looked up once a
/// forward.
class SinusoidalTables : public nn::Module {
 public:
  SinusoidalTables(Module* parent, std::int64_t positions, std::int64_t dim, SinusoidalType type);

  SinCos operator()(const Tensor& x, const Tensor& position_ids) const;

  /// _init_weights computes the table once more and copies it.
  void initialize_again() const;

 private:
  std::int64_t positions_;
  std::int64_t dim_;
  SinusoidalType type_;
  Tensor embed_positions_;
};

/// apply_rotary_pos_emb of a [batch, seq, heads, rotary dim] tensor.
Tensor apply_sinusoidal(const Tensor& states, const SinCos& tables);

/// states[:, :, :, start:end]: each `:` is a slice of its own, but a range whose written end is the
/// dimension's size is none (python_variable_indexing.cpp).
Tensor slice_of_heads(const Tensor& states, std::int64_t start, std::int64_t end,
                      std::int64_t step = 1);

}  // namespace highwater::models
