// The "4N rule": weights, gradients and two moments, each as large as the weights in fp32.
#pragma once

#include "workloads/estimates/terms/formula.hpp"

namespace highwater {

/// Bytes for `parameters` (P) trained by Adam in fp32: 4 P each for weights and gradients, 8 P for
/// the two moments. Source: "Where did all the memory go" (4 N, N = bytes of the weights).
Estimate four_n(double parameters);

extern const Formula kFourN;

}  // namespace highwater
