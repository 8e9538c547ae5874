// The activations of the covered models, by their names in transformers' ACT2FN.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace highwater {

enum class Activation : std::uint8_t {
  relu,
  gelu,               ///< one kernel, erf form
  gelu_new,           ///< the tanh formula in Python, eight operators
  gelu_pytorch_tanh,  ///< one kernel, tanh form
  silu,               ///< also called swish
  relu2,              ///< relu(x) squared
  xielu               ///< with parameters of its own: Apertus
};

std::string_view to_string(Activation activation);

/// The activation that transformers calls `name`, if it is covered.
std::optional<Activation> parse_activation(std::string_view name);

}  // namespace highwater
