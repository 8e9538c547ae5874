// torchao's 8-bit weights: a byte a number, a scale and a zero point for each output (torchao
// 0.18: quantization/quantize_/workflows/int8/int8_tensor.py, quantization/quant_primitives.py).
//
// The product is made of torch's own operators, so that autograd keeps the weight in the input's
// type from the forward to the backward pass.
#pragma once

#include "workloads/nn/layers.hpp"

namespace highwater::nn {

struct Int8Weight {
  eager::Tensor codes;        ///< qdata, [out, in]
  eager::Tensor scales;       ///< fp32, [out, 1]
  eager::Tensor zero_points;  ///< [out, 1]
  DType dtype = DType::bf16;  ///< of the weight before
};

/// Int8Tensor.from_hp(weight, PerRow()) of a weight on the device.
Int8Weight quantize_int8(const eager::Tensor& weight);

/// torch.nn.Linear whose weight is an Int8Tensor.
class LinearInt8WeightOnly : public QuantizedWeight {
 public:
  explicit LinearInt8WeightOnly(Int8Weight weight) : weight_(std::move(weight)) {}

  [[nodiscard]] Tensor apply(const Tensor& x, const Tensor& bias) const override;
  [[nodiscard]] Tensor dequantized() const override;

  // PEFT copies 4-bit layers only.
  [[nodiscard]] std::vector<Tensor> deep_copied(const Tensor& /*bias*/) const override {
    return {};
  }

  // peft 0.21, tuners/lora/torchao.py: TorchaoLoraLinear is a lora.Linear.
  [[nodiscard]] AdapterForm adapter_form() const override { return AdapterForm::plain; }

  [[nodiscard]] std::optional<DType> adapter_dtype() const override { return weight_.dtype; }

 private:
  Int8Weight weight_;
};

}  // namespace highwater::nn
