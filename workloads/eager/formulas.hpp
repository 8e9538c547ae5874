// Gradient formulas that an operator and its in-place form share (derivatives.yaml,
// FunctionsManual.cpp of PyTorch 2.6). Internal to eager/.
#pragma once

#include "workloads/eager/node.hpp"

namespace highwater::eager {

/// The gradients of self + other, whose types were `self` and `other`.
BackwardFunction add_backward();

/// The gradients of self / other; the node saved other, and self if other requires a gradient.
BackwardFunction div_backward();

}  // namespace highwater::eager
