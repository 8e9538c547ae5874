// Weights that a checkpoint holds in 4 or 8 bits, as the quantization_config of its config.json
// says: BitsAndBytesConfig (transformers 5.23, utils/quantization_config.py). from_pretrained()
// reads the codes then, and keeps to them whatever a script asks for (quantizers/auto.py
// merge_quantization_configs).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/plan/model/json_fields.hpp"
#include "workloads/plan/model/model_spec.hpp"

namespace highwater {

/// quant_method.
inline constexpr std::string_view kBitsAndBytes = "bitsandbytes";

/// Formats and types are words of the options --quantize, --quant-storage, --quant-compute-dtype.
struct PublishedWeights {
  std::string format;  ///< nf4, fp4 or int8
  bool double_quant = false;
  std::string storage = "uint8";
  std::string compute_dtype = "fp32";
  /// llm_int8_skip_modules: names of modules, or what they begin or end with.
  std::vector<std::string> unquantized;
  bool quantizes_head = false;  ///< those names are given, and the head's is not among them
};

/// Those of a model that was read from a config.json with such a field.
std::optional<PublishedWeights> published_weights(const ModelSpec& spec);

/// The field itself; nothing if neither 4 nor 8 bits are on.
std::optional<PublishedWeights> read_bitsandbytes(JsonFields& config);

}  // namespace highwater
