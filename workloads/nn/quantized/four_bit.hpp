// 4-bit weights: blocks of 64 numbers with a scale each, and the products with them (bitsandbytes
// 0.50.2: functional.py quantize_4bit, dequantize_4bit; autograd/_functions.py MatMul4Bit;
// backends/cuda/ops.py).
#pragma once

#include "workloads/eager/ops.hpp"
#include "workloads/plan/quantization.hpp"

namespace highwater::nn {

/// functional.name2qmap: the table of 8-bit numbers, which the process makes when it first needs it
/// and keeps.
using DynamicMap = eager::Tensor;

/// bitsandbytes.functional.QuantState.
struct QuantState {
  eager::Tensor absmax;  ///< scales in fp32; nested: their codes of 8 bits
  eager::Tensor code;    ///< the 16 values
  eager::Tensor offset;  ///< of nested scales: their mean
  eager::Tensor nested_absmax;
  eager::Tensor nested_code;
  DynamicMap dynamic_map;
  eager::Dims shape;
  DType dtype = DType::bf16;  ///< of the weight before

  [[nodiscard]] bool is_nested() const { return offset.defined(); }
};

/// torch.nn.functional.linear as the process has it: ZeRO-3 puts its own there.
using LinearFunction = eager::Tensor (*)(const eager::Tensor& input, const eager::Tensor& weight,
                                         const eager::Tensor& bias);

struct FourBitWeight {
  eager::Tensor data;  ///< the codes, a column of `storage` elements
  QuantState state;
  LinearFunction linear = eager::linear;  ///< of a weight that was made in 16 bits
};

/// quantize_4bit() of a weight on the device.
FourBitWeight quantize_4bit(const eager::Tensor& weight, const Quantization& quantization,
                            DynamicMap& dynamic_map);

/// The same of a weight on the host, where codes and state stay.
FourBitWeight quantized_on_host(const eager::Tensor& weight, const Quantization& quantization);

/// A weight whose codes and state a checkpoint holds, read from it: `weight` as it was before
/// (Params4bit.from_prequantized, QuantState.from_dict).
FourBitWeight read_4bit(const eager::Tensor& weight, const Quantization& quantization);

/// dequantize_4bit(): a new block.
eager::Tensor dequantize_4bit(const QuantState& state);

/// matmul_4bit(). `weight` must outlive the graph; `bias` may be undefined.
eager::Tensor matmul_4bit(const eager::Tensor& x, const FourBitWeight& weight,
                          const eager::Tensor& bias);

}  // namespace highwater::nn
