#include "workloads/plan/model/activation.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace highwater {
namespace {

using ActivationName = std::pair<std::string_view, Activation>;

constexpr std::array kActivations{
    ActivationName{"relu", Activation::relu},
    ActivationName{"gelu", Activation::gelu},
    ActivationName{"gelu_new", Activation::gelu_new},
    ActivationName{"gelu_pytorch_tanh", Activation::gelu_pytorch_tanh},
    ActivationName{"silu", Activation::silu},
    ActivationName{"relu2", Activation::relu2},
    ActivationName{"xielu", Activation::xielu},
    ActivationName{"swish", Activation::silu},
};

}  // namespace

std::string_view to_string(Activation activation) {
  return std::ranges::find(kActivations, activation, &ActivationName::second)->first;
}

std::optional<Activation> parse_activation(std::string_view name) {
  const auto* const found = std::ranges::find(kActivations, name, &ActivationName::first);
  return found == kActivations.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace highwater
