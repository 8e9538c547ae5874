#include "workloads/megatron/transformer_engine/quantizer.hpp"

#include "workloads/eager/runtime.hpp"
#include "workloads/kernels/division.hpp"

namespace highwater::megatron {

using eager::Runtime;
using eager::Tensor;

namespace {

constexpr std::int64_t kSquare = 128;  ///< Float8BlockQuantizer: a block's side
constexpr std::int64_t kGroup = 32;    ///< MXFP8Quantizer: numbers that share a scale

std::int64_t rounded_up(std::int64_t value, std::int64_t multiple) {
  return divide_up(value, multiple) * multiple;
}

struct MatrixSize {
  std::int64_t rows;
  std::int64_t columns;
};

MatrixSize transposed(MatrixSize size) {
  return {size.columns, size.rows};
}

/// Float8BlockQuantizer::get_scale_shape, in bytes: fp32.
std::int64_t square_scales(MatrixSize size) {
  return 4 * divide_up(size.rows, kSquare) * rounded_up(divide_up(size.columns, kSquare), 4);
}

std::int64_t row_block_scales(MatrixSize size) {
  return 4 * divide_up(size.columns, kSquare) * rounded_up(size.rows, 4);
}

/// MXFP8Quantizer::get_scale_shape, in bytes: one for each group.
std::int64_t group_scales(MatrixSize size) {
  return rounded_up(size.rows, kSquare) * rounded_up(size.columns / kGroup, 4);
}

/// Bytes of the scales of one direction; `size` is that of the direction.
std::int64_t scale_bytes(MatrixSize size, Fp8Recipe recipe, Operand operand) {
  if (recipe == Fp8Recipe::mxfp8) {
    return group_scales(size);
  }
  return operand == Operand::weight ? square_scales(size) : row_block_scales(size);
}

Tensor bytes(Runtime& runtime, std::int64_t count) {
  return eager::empty(runtime, {count}, DType::uint8);
}

bool has_one_scale(Fp8Recipe recipe) {
  return recipe == Fp8Recipe::delayed || recipe == Fp8Recipe::tensorwise;
}

/// nvte_is_non_tn_fp8_gemm_supported: products of 8 bits in any layout need no transposes.
bool needs_transposes(const Gpu& gpu) {
  return gpu.major < 10;
}

constexpr std::int64_t kScale = 4;

// Float8Quantizer, Float8CurrentScalingQuantizer::create_tensor. Columns are transposes of the
// codes by rows, and one scale serves both.
Quantized with_one_scale(Runtime& runtime, std::int64_t elements, Fp8Recipe recipe,
                         Directions directions) {
  Quantized result;
  if (recipe == Fp8Recipe::delayed) {
    result.row_scales = bytes(runtime, kScale);
  }
  result.rows = bytes(runtime, elements);
  if (directions != Directions::rows && needs_transposes(runtime.gpu)) {
    result.columns = bytes(runtime, elements);
  }
  if (recipe == Fp8Recipe::tensorwise) {
    result.row_scales = bytes(runtime, kScale);
  }
  return result;
}

Quantized with_many_scales(Runtime& runtime, MatrixSize size, Fp8Recipe recipe, Operand operand,
                           Directions directions) {
  Quantized result;
  if (directions != Directions::columns) {
    result.rows = bytes(runtime, size.rows * size.columns);
    result.row_scales = bytes(runtime, scale_bytes(size, recipe, operand));
  }
  if (directions != Directions::rows) {
    // An MXFP8 matrix lies as it is in both directions; only its groups turn.
    const std::int64_t scales =
        recipe == Fp8Recipe::mxfp8
            ? rounded_up(size.rows / kGroup, 4) * rounded_up(size.columns, kSquare)
            : scale_bytes(transposed(size), recipe, operand);
    result.columns = bytes(runtime, size.rows * size.columns);
    result.column_scales = bytes(runtime, scales);
  }
  return result;
}

Quantized created(const Tensor& source, Fp8Recipe recipe, Operand operand, Directions directions) {
  const std::int64_t columns = source.size(-1);
  const MatrixSize size{source.numel() / columns, columns};
  return has_one_scale(recipe)
             ? with_one_scale(source.runtime(), source.numel(), recipe, directions)
             : with_many_scales(source.runtime(), size, recipe, operand, directions);
}

}  // namespace

Quantized quantize(const Tensor& source, Fp8Recipe recipe, Operand operand, Directions directions) {
  const eager::OpScope op(source.runtime(), "quantize");
  Quantized result = created(source, recipe, operand, directions);
  if (recipe == Fp8Recipe::tensorwise) {
    const Tensor largest = bytes(source.runtime(), 2 * kScale);  // the largest value and the scale
  }
  return result;
}

Quantized quantized_norm(const Tensor& input, Fp8Recipe recipe) {
  return created(input, recipe, Operand::activation, Directions::both);
}

void release_rows(Quantized& matrix) {
  if (!matrix.columns.defined()) {
    return;
  }
  matrix.rows.reset();
  if (matrix.column_scales.defined()) {
    matrix.row_scales.reset();
  }
}

eager::TensorList tensors_of(const Quantized& matrix) {
  return {matrix.rows, matrix.row_scales, matrix.columns, matrix.column_scales};
}

// DelayedScalingRecipeState: a scale and, of a history of one step, a largest value each.
void keep_recipe_state(Runtime& runtime, Fp8Recipe recipe, ScaledOperands operands,
                       eager::TensorList& kept) {
  if (recipe != Fp8Recipe::delayed || !kept.empty()) {
    return;
  }
  const eager::OpScope op(runtime, "DelayedScalingRecipeState");
  for (const int count :
       {operands.forward, operands.forward, operands.backward, operands.backward}) {
    kept.push_back(bytes(runtime, kScale * count));
    runtime.categorize(kept.back(), Category::buffer);
  }
}

}  // namespace highwater::megatron
