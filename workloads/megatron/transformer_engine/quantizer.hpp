// Matrices in 8 bits as Transformer Engine's recipes make them: codes and scales, by rows for
// products of the forward pass and by columns for those of the backward pass.
//
// Source: Transformer Engine 2.20, pytorch/csrc/quantizer.cpp, pytorch/tensor/*_tensor.py.
#pragma once

#include <cstdint>

#include "workloads/eager/ops.hpp"
#include "workloads/plan/megatron_options.hpp"

namespace highwater::megatron {

/// What of a matrix is in 8 bits; undefined where it was not made.
struct Quantized {
  eager::Tensor rows;
  eager::Tensor row_scales;
  eager::Tensor columns;
  eager::Tensor column_scales;  ///< undefined where one scale serves both
};

enum class Directions : std::uint8_t { rows, columns, both };

/// Weights have scales of squares where activations have scales of rows.
enum class Operand : std::uint8_t { activation, weight };

/// The blocks of `source`, a [..., columns] tensor of 16 bits, in 8. @pre recipe is not none
Quantized quantize(const eager::Tensor& source, Fp8Recipe recipe, Operand operand,
                   Directions directions);

/// The same made by a norm's kernel, without the scratch of a pass of its own.
Quantized quantized_norm(const eager::Tensor& input, Fp8Recipe recipe);

/// Frees what only the forward product reads. Where codes by rows serve both products, nothing.
void release_rows(Quantized& matrix);

/// The four of them, for saving; the other way round.
eager::TensorList tensors_of(const Quantized& matrix);

/// Operands of a module's products that a recipe has scales for.
struct ScaledOperands {
  int forward = 3;   ///< input, weight and result
  int backward = 2;  ///< gradients of the result and of the input
};

/// What a recipe keeps for each module besides: scales and histories.
void keep_recipe_state(eager::Runtime& runtime, Fp8Recipe recipe, ScaledOperands operands,
                       eager::TensorList& kept);

}  // namespace highwater::megatron
