#include "workloads/nn/quantized/torchao_nf4.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "traces/error.hpp"
#include "workloads/eager/ops.hpp"
#include "workloads/eager/runtime.hpp"

namespace highwater::nn {
namespace {

using eager::Dims;
using eager::Tensor;
using eager::TensorList;

constexpr std::int64_t kBlock = 64;         // to_nf4: block_size
constexpr std::int64_t kScalesBlock = 256;  // scaler_block_size
constexpr std::int64_t kValues = 16;
constexpr std::int64_t kChunk = 1024 * 1024;  // CHUNK_SIZE

/// What is left of the scales of a weight.
struct NestedScales {
  Tensor codes;
  Tensor factor;
  Tensor mean;
};

Tensor pointwise_of(const char* op, const Tensor& x) {
  return eager::pointwise(op, {x}, x.dtype());
}

Tensor rows_of(const Tensor& flat, std::int64_t length) {
  return eager::view(flat, {flat.numel() / length, length});
}

// get_block_absmax: max() of a dimension finds indices as well.
Tensor block_absmax(const Tensor& flat, std::int64_t length) {
  Tensor magnitudes = pointwise_of("abs", rows_of(flat, length));
  Tensor greatest = eager::reduce_plain("max", magnitudes, {1}, eager::KeepDim::no, flat.dtype());
  Tensor indices = eager::empty_like(greatest, DType::int64);
  eager::end_of_frame(magnitudes, indices);
  return greatest;
}

// 256 / (2 * greatest), of as many numbers as there are scales.
Tensor factors_for(const Tensor& greatest) {
  const Tensor repeated = eager::expand(eager::unsqueeze(greatest, 1), {-1, kScalesBlock});
  const Tensor doubled = eager::mul(repeated, 2.0);
  const Tensor reciprocal = pointwise_of("reciprocal", doubled);
  return eager::mul(reciprocal, 256.0);
}

Tensor coded_scales(const Tensor& rows, const Tensor& factors) {
  Tensor codes = eager::mul(rows, factors);
  codes = pointwise_of("round", codes);
  return pointwise_of("clamp", codes);
}

// double_quantize_scalers. A single factor stays a view of all that were computed.
NestedScales nested_scales(const Tensor& flat) {
  NestedScales result;
  Tensor scales = block_absmax(flat, kBlock);
  result.mean = eager::mean(scales, 0, eager::KeepDim::no);
  scales = eager::sub(scales, result.mean);
  Tensor greatest = block_absmax(scales, kScalesBlock);
  Tensor factors = factors_for(greatest);
  Tensor codes = coded_scales(rows_of(scales, kScalesBlock), factors);
  result.codes = eager::empty(flat.runtime(), {codes.numel()}, DType::uint8);
  result.factor = eager::contiguous(eager::select(factors, 1, 0));
  eager::end_of_frame(scales, greatest, factors, codes);
  return result;
}

// quantize_tensor_nearest: each number beside each of the 16 values.
Tensor nearest(const Tensor& numbers, const Tensor& table) {
  Tensor differences = eager::sub(eager::unsqueeze(numbers, 1), table);
  differences = pointwise_of("abs", differences);
  Tensor least =
      eager::reduce_plain("min", differences, {1}, eager::KeepDim::no, differences.dtype());
  Tensor indices = eager::empty_like(least, DType::int64);
  eager::end_of_frame(least, differences);
  return indices;
}

// In chunks, whose codes are copied into those of the whole.
void find_nearest(const Tensor& flat, const Tensor& table) {
  for (std::int64_t start = 0; start < flat.numel(); start += kChunk) {
    const std::int64_t end = std::min(start + kChunk, flat.numel());
    Tensor indices = nearest(eager::slice(flat, 0, start, end), table);
    const Tensor codes = eager::to_dtype(indices, DType::uint8);
    indices.reset();
  }
}

// Codes of every second number, shifted, and the others.
Tensor combined(const Tensor& codes) {
  const Dims half{codes.numel() / 2};
  const Tensor shifted = eager::empty(codes.runtime(), half, DType::uint8);
  return eager::empty(codes.runtime(), half, DType::uint8);
}

// convert_to_norm_float_weight
Tensor coded(const Tensor& flat, const Tensor& table) {
  Tensor scales = block_absmax(flat, kBlock);
  Tensor scaled = eager::div(rows_of(flat, kBlock), eager::unsqueeze(scales, 1));
  Tensor codes = eager::empty(flat.runtime(), {flat.numel()}, DType::uint8);
  find_nearest(eager::view(scaled, {-1}), table);
  Tensor result = combined(codes);
  eager::end_of_frame(scales, codes, scaled);
  return result;
}

// The halves of a byte as indices: shifted or masked, and made 64 bits wide.
Tensor half_bytes(const Tensor& codes) {
  const Tensor half = pointwise_of("shift", codes);
  return eager::to_dtype(half, DType::int64);
}

// dequantize_scalers
Tensor scales_of(const Nf4Weight& weight) {
  const Tensor quotients =
      eager::pointwise("div", {rows_of(weight.scales, kScalesBlock)}, weight.dtype);
  return eager::add(eager::view(quotients, {-1}), weight.mean);
}

Tensor scaled(const Tensor& values, const Tensor& scales) {
  const Tensor repeated = eager::flatten(
      eager::expand(eager::unsqueeze(scales, 1), {scales.size(0), kBlock / 2}), 0, 1);
  return eager::mul(values, repeated);
}

// torch.stack of two rows, seen as the weight.
Tensor interleaved(const Tensor& first, const Tensor& second, const Dims& shape) {
  const auto as_row = [](const Tensor& values) {
    return eager::transpose(eager::unsqueeze(values, 1), 0, 1);
  };
  const Tensor pairs = eager::stack(TensorList{as_row(first), as_row(second)}, 2);
  pairs.runtime().categorize(pairs, Category::weight_copy);
  return eager::reshape(pairs, shape);
}

// NF4Tensor.get_original_weight
Tensor original_weight(const Nf4Weight& weight) {
  const eager::NoGrad no_grad(weight.codes.runtime());
  const eager::OpScope op(weight.codes.runtime(), "NF4Tensor.get_original_weight");
  Tensor first_codes = half_bytes(weight.codes);
  Tensor second_codes = half_bytes(weight.codes);
  Tensor first_values = eager::index(weight.table, first_codes);
  Tensor second_values = eager::index(weight.table, second_codes);
  Tensor scales = scales_of(weight);
  Tensor first = scaled(first_values, scales);
  Tensor second = scaled(second_values, scales);
  Tensor result = interleaved(first, second, weight.shape);
  eager::end_of_frame(first_codes, second_codes, first_values, second_values, scales, first,
                      second);
  return result;
}

// ctx.saved_tensors, which a checkpointed block is recomputed for, and the product.
TensorList linear_backward(eager::Node& node, TensorList& grads, const Nf4Weight& weight) {
  const Tensor saved = node.unpack(0);
  TensorList result(1);
  if (node.needs(0)) {
    const Tensor wide = original_weight(weight);
    result[0] = eager::matmul(grads[0], wide);
  }
  return result;
}

// LinearNF4, which saves the weight once the product is made.
Tensor linear_nf4(const Tensor& x, const Nf4Weight& weight) {
  const auto node = eager::begin_node(x.runtime(), "LinearNF4Backward", {x});
  Tensor output;
  {
    const eager::NoGrad no_grad(x.runtime());
    const Tensor wide = original_weight(weight);
    output = eager::linear(x, wide, {});
  }
  if (node) {
    node->save(weight.codes);
  }
  eager::finish_node(node, output, [&weight](eager::Node& own, TensorList& grads) {
    return linear_backward(own, grads, weight);
  });
  return output;
}

void require_whole_blocks(const Tensor& weight) {
  constexpr std::int64_t kNumbers = kBlock * kScalesBlock;
  if (weight.numel() % kNumbers != 0) {
    throw InputError("plan", "quantize",
                     "torchao's NF4 has " + std::to_string(kNumbers) +
                         " numbers for each factor of its scales, and a layer of " +
                         std::to_string(weight.size(1)) + " inputs and " +
                         std::to_string(weight.size(0)) +
                         " outputs is no multiple of that (to_nf4 ends with an assertion)",
                     "omit --quantize, or use a model of other widths");
  }
}

// Shapes alone.
Nf4Weight on_meta(const Tensor& weight) {
  const auto part = [&](std::int64_t count, DType dtype) {
    return eager::empty_on(weight.runtime(), eager::Place::meta, Dims{count}, dtype);
  };
  const std::int64_t numbers = weight.numel();
  return {.codes = part(numbers / 2, DType::uint8),
          .scales = part(numbers / kBlock, DType::uint8),
          .factor = part(numbers / kBlock / kScalesBlock, weight.dtype()),
          .mean = part(1, weight.dtype()),
          .table = part(kValues, weight.dtype()),
          .shape = weight.sizes(),
          .dtype = weight.dtype()};
}

}  // namespace

Nf4Weight quantize_nf4(const Tensor& weight) {
  require_whole_blocks(weight);
  if (weight.place() == eager::Place::meta) {
    return on_meta(weight);
  }
  const eager::NoGrad no_grad(weight.runtime());
  const eager::OpScope op(weight.runtime(), "NF4Tensor.from_tensor");
  Nf4Weight packed{.shape = weight.sizes(), .dtype = weight.dtype()};
  packed.table = eager::empty(weight.runtime(), {kValues}, weight.dtype());
  const Tensor flat = eager::view(weight, {-1});
  NestedScales nested = nested_scales(flat);
  packed.scales = std::move(nested.codes);
  packed.factor = std::move(nested.factor);
  packed.mean = std::move(nested.mean);
  packed.codes = coded(flat, packed.table);
  for (const Tensor* part :
       {&packed.codes, &packed.scales, &packed.factor, &packed.mean, &packed.table}) {
    part->runtime().categorize(*part, Category::parameter);
  }
  return packed;
}

void load_nf4(const Tensor& weight) {
  Tensor on_device = eager::to_cuda(weight);
  Nf4Weight packed = quantize_nf4(on_device);
  on_device.reset();
  eager::end_of_frame(packed.scales, packed.factor, packed.mean, packed.codes, packed.table);
}

std::vector<Tensor> LinearNf4::quantized_again() const {
  eager::Runtime& runtime = weight_.codes.runtime();
  Nf4Weight packed = quantize_nf4(
      eager::to_cuda(eager::empty_on(runtime, eager::Place::host, weight_.shape, weight_.dtype)));
  weight_.mean->storage = packed.mean->storage;
  weight_.table->storage = packed.table->storage;
  return {packed.scales, packed.factor, packed.codes};
}

Tensor LinearNf4::apply(const Tensor& x, const Tensor& bias) const {
  Tensor out = linear_nf4(x, weight_);
  return bias.defined() ? eager::add(out, bias) : out;
}

Tensor LinearNf4::dequantized() const {
  return original_weight(weight_);
}

}  // namespace highwater::nn
