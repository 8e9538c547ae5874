// Rounding up, as the host code of CUDA kernels computes grids and storage.
#pragma once

#include <cstdint>

namespace highwater {

/// The quotient rounded up. @pre both are positive, or `a` is 0
constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

}  // namespace highwater
