// bitsandbytes' Linear4bit: input and bias in the compute type, the result in the input's
// (bitsandbytes 0.50.2, nn/modules.py Linear4bit.forward).
#pragma once

#include "workloads/nn/layers.hpp"
#include "workloads/nn/quantized/four_bit.hpp"

namespace highwater::nn {

class Linear4Bit : public QuantizedWeight {
 public:
  Linear4Bit(FourBitWeight weight, DType compute_dtype)
      : weight_(std::move(weight)), compute_dtype_(compute_dtype) {}

  [[nodiscard]] Tensor apply(const Tensor& x, const Tensor& bias) const override;
  [[nodiscard]] Tensor dequantized() const override;

  [[nodiscard]] AdapterForm adapter_form() const override { return AdapterForm::cloned; }

  [[nodiscard]] std::optional<DType> adapter_dtype() const override { return compute_dtype_; }

  [[nodiscard]] std::vector<Tensor> deep_copied(const Tensor& bias) const override;

  [[nodiscard]] std::vector<Tensor> saved_state() const override;

  void bring_state_to_cuda() const override;

 private:
  FourBitWeight weight_;
  DType compute_dtype_;
};

}  // namespace highwater::nn
