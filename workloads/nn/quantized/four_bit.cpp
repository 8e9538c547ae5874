#include "workloads/nn/quantized/four_bit.hpp"

#include <memory>
#include <string>
#include <utility>

#include "workloads/eager/runtime.hpp"
#include "workloads/kernels/gemm_4bit.hpp"

namespace highwater::nn {
namespace {

using eager::Dims;
using eager::Runtime;
using eager::Tensor;
using eager::TensorList;

constexpr std::int64_t kBlockSize = 64;         // quantize_4bit: blocksize
constexpr std::int64_t kNestedBlockSize = 256;  // of scales
constexpr std::int64_t kCodes = 16;
constexpr std::int64_t kDynamicCodes = 256;  // create_dynamic_map: one value for each byte

std::int64_t blocks_of(std::int64_t elements, std::int64_t block_size) {
  return (elements + block_size - 1) / block_size;
}

// get_4bit_type: the table is divided by its largest value.
Tensor make_code(Runtime& runtime) {
  Tensor code = eager::empty(runtime, {kCodes}, DType::fp32);
  Tensor magnitudes = eager::pointwise("abs", {code}, DType::fp32);
  const Tensor largest =
      eager::reduce_plain("max", magnitudes, {}, eager::KeepDim::no, DType::fp32);
  magnitudes.reset();
  return code;
}

// torch.ops.bitsandbytes.quantize_blockwise: codes of one byte.
Tensor quantize_scales(const Tensor& scales, DynamicMap& dynamic_map, QuantState& state) {
  Runtime& runtime = scales.runtime();
  if (!dynamic_map.defined()) {
    dynamic_map = eager::empty(runtime, {kDynamicCodes}, DType::fp32);
    runtime.categorize(dynamic_map, Category::buffer);
  }
  state.dynamic_map = dynamic_map;
  const eager::OpScope op(runtime, "bitsandbytes::quantize_blockwise");
  state.nested_absmax =
      eager::empty(runtime, {blocks_of(scales.numel(), kNestedBlockSize)}, DType::fp32);
  Tensor codes = eager::empty_like(scales, DType::uint8);
  state.nested_code = eager::empty_like(dynamic_map);
  return codes;
}

void nest_scales(Tensor scales, DynamicMap& dynamic_map, QuantState& state) {
  state.offset = eager::mean(scales, 0, eager::KeepDim::no);
  const Tensor centred = eager::sub(scales, state.offset);
  state.absmax = quantize_scales(centred, dynamic_map, state);
}

// dequantize_blockwise, and the mean added.
Tensor scales_of(const QuantState& state) {
  if (!state.is_nested()) {
    return state.absmax;
  }
  const eager::OpScope op(state.absmax.runtime(), "bitsandbytes::dequantize_blockwise");
  return eager::empty_like(state.absmax, DType::fp32);
}

// _dequant_linear_fallback: the weight in the input's type is a block of its own.
Tensor linear_of_copy(const Tensor& x, const FourBitWeight& packed, const Tensor& bias) {
  const QuantState& state = packed.state;
  Tensor scales = state.absmax;
  Tensor centred;
  if (state.is_nested()) {
    centred = eager::empty_like(state.absmax, DType::fp32);
    scales = eager::add(centred, state.offset);
  }
  Tensor weight = eager::empty(x.runtime(), state.shape, x.dtype());
  x.runtime().categorize(weight, Category::weight_copy);
  Tensor result = packed.linear(x, weight, bias);
  eager::end_of_frame(scales, centred, weight);
  return result;
}

Tensor gemm_4bit(const Tensor& x, const FourBitWeight& packed, const Tensor& bias) {
  const QuantState& state = packed.state;
  Runtime& runtime = x.runtime();
  const eager::OpScope op(runtime, "bitsandbytes::gemm_4bit");
  const Gemm4Bit gemm{.rows = x.numel() / x.size(-1),
                      .in = state.shape[1],
                      .out = state.shape[0],
                      .dtype = x.dtype(),
                      .block_size = kBlockSize};
  if (!reads_4bit_weight(runtime.gpu, gemm)) {
    return linear_of_copy(x, packed, bias);
  }
  const Tensor rows = eager::contiguous(x);
  Dims sizes = x.sizes();
  sizes.back() = gemm.out;
  return eager::empty(runtime, sizes, x.dtype());
}

Tensor bias_gradient(const Tensor& grad) {
  return eager::sum(grad, {0}, eager::KeepDim::no);
}

TensorList matmul_4bit_backward(eager::Node& node, TensorList& grads, const QuantState& state) {
  TensorList result(2);
  if (node.needs(1)) {
    result[1] = bias_gradient(grads[0]);
  }
  if (node.needs(0)) {
    Tensor weight = dequantize_4bit(state);
    weight = eager::to_dtype(weight, grads[0].dtype());
    result[0] = eager::matmul(grads[0], weight);
  }
  return result;
}

Dims code_sizes(const Tensor& weight, const Quantization& quantization) {
  const std::int64_t codes_of_element = 2 * item_size(quantization.storage);
  return {(weight.numel() + 1) / codes_of_element, 1};
}

Tensor empty_codes(const Tensor& weight, const Quantization& quantization) {
  return eager::empty(weight.runtime(), code_sizes(weight, quantization), quantization.storage);
}

// QuantState.as_dict(packed=True) as JSON; a mean of nested scales that is not zero has more
// digits.
std::int64_t bytes_of_text(const QuantState& state, bool is_nested) {
  std::string text = R"({"quant_type": "nf4", "blocksize": )" + std::to_string(kBlockSize) +
                     R"(, "dtype": ")" + std::string(to_string(state.dtype)) + R"(", "shape": [)" +
                     std::to_string(state.shape[0]) + ", " + std::to_string(state.shape[1]) + "]";
  if (is_nested) {
    text += R"(, "nested_blocksize": )" + std::to_string(kNestedBlockSize) +
            R"(, "nested_dtype": "float32", "nested_offset": 0.0)";
  }
  return std::ssize(text + "}");
}

// They live as long as the weight.
void label(const QuantState& state) {
  for (const Tensor* part :
       {&state.absmax, &state.code, &state.offset, &state.nested_absmax, &state.nested_code}) {
    if (part->defined()) {
      part->runtime().categorize(*part, Category::parameter);
    }
  }
}

}  // namespace

FourBitWeight quantize_4bit(const Tensor& weight, const Quantization& quantization,
                            DynamicMap& dynamic_map) {
  Runtime& runtime = weight.runtime();
  const eager::NoGrad no_grad(runtime);
  const eager::OpScope op(runtime, "bitsandbytes::quantize_4bit");
  FourBitWeight packed;
  packed.state.shape = weight.sizes();
  packed.state.dtype = weight.dtype();
  Tensor scales = eager::empty(runtime, {blocks_of(weight.numel(), kBlockSize)}, DType::fp32);
  packed.data = empty_codes(weight, quantization);
  packed.state.code = make_code(runtime);
  if (quantization.double_quant) {
    nest_scales(std::move(scales), dynamic_map, packed.state);
  } else {
    packed.state.absmax = std::move(scales);
  }
  label(packed.state);
  return packed;
}

FourBitWeight quantized_on_host(const Tensor& weight, const Quantization& quantization) {
  const auto made = [&](const Dims& sizes, DType dtype) {
    return eager::empty_on(weight.runtime(), eager::Place::host, sizes, dtype);
  };
  const std::int64_t blocks = blocks_of(weight.numel(), kBlockSize);
  FourBitWeight packed;
  QuantState& state = packed.state;
  state.shape = weight.sizes();
  state.dtype = weight.dtype();
  packed.data = made(code_sizes(weight, quantization), quantization.storage);
  state.code = made({kCodes}, DType::fp32);
  state.absmax = made({blocks}, quantization.double_quant ? DType::uint8 : DType::fp32);
  if (quantization.double_quant) {
    state.offset = made({}, DType::fp32);
    state.nested_absmax = made({blocks_of(blocks, kNestedBlockSize)}, DType::fp32);
    state.nested_code = made({kDynamicCodes}, DType::fp32);
  }
  return packed;
}

// In the order of the names of the tensors; their mean comes in a block of text, which is dropped.
FourBitWeight read_4bit(const Tensor& weight, const Quantization& quantization) {
  Runtime& runtime = weight.runtime();
  const eager::OpScope op(runtime, "Params4bit.from_prequantized");
  const std::int64_t blocks = blocks_of(weight.numel(), kBlockSize);
  FourBitWeight packed;
  QuantState& state = packed.state;
  state.shape = weight.sizes();
  state.dtype = weight.dtype();
  packed.data = empty_codes(weight, quantization);
  const bool is_nested = quantization.double_quant;
  state.absmax = eager::empty(runtime, {blocks}, is_nested ? DType::uint8 : DType::fp32);
  if (is_nested) {
    state.nested_absmax = eager::empty(runtime, {blocks_of(blocks, kNestedBlockSize)}, DType::fp32);
    state.nested_code = eager::empty(runtime, {kDynamicCodes}, DType::fp32);
  }
  state.code = eager::empty(runtime, {kCodes}, DType::fp32);
  const Tensor text = eager::empty(runtime, {bytes_of_text(state, is_nested)}, DType::uint8);
  runtime.synchronize();
  if (is_nested) {
    state.offset = eager::empty(runtime, {}, DType::fp32);
  }
  label(state);
  return packed;
}

Tensor dequantize_4bit(const QuantState& state) {
  Runtime& runtime = state.absmax.runtime();
  const Tensor scales = scales_of(state);
  const eager::OpScope op(runtime, "bitsandbytes::dequantize_4bit");
  Tensor weight = eager::empty(runtime, state.shape, state.dtype);
  runtime.categorize(weight, Category::weight_copy);
  return weight;
}

Tensor matmul_4bit(const Tensor& x, const FourBitWeight& weight, const Tensor& bias) {
  Runtime& runtime = x.runtime();
  const auto node = eager::begin_node(runtime, "MatMul4BitBackward", {x, bias});
  Tensor output;
  {
    const eager::NoGrad no_grad(runtime);
    output = gemm_4bit(x, weight, bias);
  }
  if (node) {  // ctx.tensors, in no saved tensor: gathered codes live as long as the graph
    node->context = std::make_shared<const Tensor>(eager::alias(weight.data));
  }
  eager::finish_node(node, output, [&weight](eager::Node& own, TensorList& grads) {
    return matmul_4bit_backward(own, grads, weight.state);
  });
  return output;
}

}  // namespace highwater::nn
