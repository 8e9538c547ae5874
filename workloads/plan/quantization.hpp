// Frozen weights of linear layers in 4 or 8 bits: what BitsAndBytesConfig or TorchAoConfig says to
// from_pretrained (transformers 5.23, utils/quantization_config.py), and what is done with the
// model afterwards.
#pragma once

#include <cstdint>
#include <optional>

#include "workloads/plan/dtype.hpp"

namespace highwater {

enum class WeightFormat : std::uint8_t {
  unquantized,
  nf4,
  fp4,
  int8,             ///< LLM.int8()
  int8_weight_only  ///< torchao's Int8WeightOnlyConfig
};

struct Quantization {
  WeightFormat weights = WeightFormat::unquantized;
  bool double_quant = false;           ///< bnb_4bit_use_double_quant
  std::optional<DType> compute_dtype;  ///< bnb_4bit_compute_dtype; empty: of the precision
  DType storage = DType::uint8;        ///< bnb_4bit_quant_storage
  bool prepares_training = true;       ///< PEFT's prepare_model_for_kbit_training() is called
};

constexpr bool is_quantized(const Quantization& quantization) {
  return quantization.weights != WeightFormat::unquantized;
}

constexpr bool is_4bit(const Quantization& quantization) {
  return quantization.weights == WeightFormat::nf4 || quantization.weights == WeightFormat::fp4;
}

/// Weights are tensors of torchao's class in torch's own layers; the others' layers are
/// bitsandbytes'.
constexpr bool is_torchao(const Quantization& quantization) {
  return quantization.weights == WeightFormat::int8_weight_only;
}

}  // namespace highwater
