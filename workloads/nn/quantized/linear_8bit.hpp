// bitsandbytes' Linear8bitLt with 8-bit weights (bitsandbytes 0.50.2, nn/modules.py).
#pragma once

#include "workloads/nn/layers.hpp"
#include "workloads/nn/quantized/converted_bias.hpp"
#include "workloads/nn/quantized/eight_bit.hpp"

namespace highwater::nn {

class Linear8Bit : public QuantizedWeight {
 public:
  explicit Linear8Bit(EightBitWeight weight) : weight_(std::move(weight)) {}

  [[nodiscard]] Tensor apply(const Tensor& x, const Tensor& bias) const override {
    convert_bias(bias, x.dtype());
    return matmul_8bit(x, weight_, bias);
  }

  [[nodiscard]] Tensor dequantized() const override { return vectorwise_dequantized(weight_); }

  // PEFT copies 4-bit layers only.
  [[nodiscard]] std::vector<Tensor> deep_copied(const Tensor& /*bias*/) const override {
    return {};
  }

  [[nodiscard]] AdapterForm adapter_form() const override { return AdapterForm::separate; }

  [[nodiscard]] std::optional<DType> adapter_dtype() const override { return std::nullopt; }

 private:
  EightBitWeight weight_;
};

}  // namespace highwater::nn
