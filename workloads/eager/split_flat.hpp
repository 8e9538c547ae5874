// torch.split of a flat tensor into any number of pieces.
#pragma once

#include <cstdint>
#include <span>

#include "workloads/eager/tensor.hpp"

namespace highwater::eager {

/// torch.split(self, lengths) along dimension 0: views, whose backward is one cat of all gradients.
TensorList split_flat(const Tensor& self, std::span<const std::int64_t> lengths);

}  // namespace highwater::eager
