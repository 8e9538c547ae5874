// torchao's NF4 weights as torchtune keeps them: two codes a byte, a scale of 8 bits for each 64
// numbers, a factor for each 256 scales, and their mean (torchao 0.9 to 0.11:
// dtypes/nf4tensor.py NF4Tensor, LinearNF4).
//
// All is made of torch's own operators. To read a weight in 16 bits takes 14 bytes a number for a
// moment, 8 of them as indices; the graph keeps the codes alone.
#pragma once

#include "workloads/nn/layers.hpp"

namespace highwater::nn {

struct Nf4Weight {
  eager::Tensor codes;   ///< quantized_data
  eager::Tensor scales;  ///< quantized_scalers
  eager::Tensor factor;  ///< quantization_factor
  eager::Tensor mean;    ///< scaler_mean
  eager::Tensor table;   ///< nf4: the 16 values
  eager::Dims shape;
  DType dtype = DType::bf16;  ///< of the weight before
};

/// to_nf4() of a weight on the device, or on meta.
/// @throws InputError if its scales do not fill blocks
Nf4Weight quantize_nf4(const eager::Tensor& weight);

/// NF4Tensor.copy_ of the weight that a checkpoint has: it is quantised once more, into tensors
/// that are copied and dropped.
void load_nf4(const eager::Tensor& weight);

/// LoRALinear and FrozenNF4Linear of torchtune 0.6.1 (modules/peft/lora.py,
/// modules/low_precision/nf4_linear.py) as far as the weight goes.
class LinearNf4 : public QuantizedWeight {
 public:
  explicit LinearNf4(Nf4Weight weight) : weight_(std::move(weight)) {}

  [[nodiscard]] Tensor apply(const Tensor& x, const Tensor& bias) const override;
  [[nodiscard]] Tensor dequantized() const override;

  /// torchtune 0.6.1, training/_distributed.py load_from_full_model_state_dict: mean and table
  /// stay whole on every rank.
  [[nodiscard]] std::vector<Tensor> quantized_again() const override;

  // PEFT never sees these layers.
  [[nodiscard]] std::vector<Tensor> deep_copied(const Tensor& /*bias*/) const override {
    return {};
  }

  [[nodiscard]] AdapterForm adapter_form() const override { return AdapterForm::plain; }

  [[nodiscard]] std::optional<DType> adapter_dtype() const override { return weight_.dtype; }

 private:
  Nf4Weight weight_;
};

}  // namespace highwater::nn
