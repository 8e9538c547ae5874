// bitsandbytes' Linear8bitLt with 8-bit weights (bitsandbytes 0.50.2, nn/modules.py).
#pragma once

#include "workloads/nn/layers.hpp"
#include "workloads/nn/quantized/converted_bias.hpp"
#include "workloads/nn/quantized/eight_bit.hpp"

namespace highwater::nn {

class Linear8Bit : public QuantizedWeight {
 public:
  /// `parameter` is the module's, which begins as another view of the codes.
  Linear8Bit(EightBitWeight weight, Tensor parameter)
      : weight_(std::move(weight)), parameter_(std::move(parameter)) {}

  [[nodiscard]] Tensor apply(const Tensor& x, const Tensor& bias) const override {
    convert_bias(bias, x.dtype());
    Tensor result = matmul_8bit(x, weight_, bias);
    restore_parameter();
    return result;
  }

  [[nodiscard]] Tensor dequantized() const override { return vectorwise_dequantized(weight_); }

  // PEFT copies 4-bit layers only.
  [[nodiscard]] std::vector<Tensor> deep_copied(const Tensor& /*bias*/) const override {
    return {};
  }

  [[nodiscard]] AdapterForm adapter_form() const override { return AdapterForm::separate; }

  [[nodiscard]] std::optional<DType> adapter_dtype() const override { return std::nullopt; }

 private:
  // self.weight.data = self.state.CB: what ZeRO-3 has gathered for the parameter is dropped.
  void restore_parameter() const {
    parameter_->storage = weight_.codes->storage;
    parameter_->offset = weight_.codes->offset;
    parameter_->sizes = weight_.codes.sizes();
    parameter_->strides = weight_.codes->strides;
  }

  EightBitWeight weight_;  ///< state.CB and state.SCB, which the layer keeps
  Tensor parameter_;
};

}  // namespace highwater::nn
