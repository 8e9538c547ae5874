// Small systems of linear equations, solved exactly.
#pragma once

#include <optional>
#include <vector>

#include "sim/scaling/fraction.hpp"

namespace highwater {

/// An equation: the coefficients of the unknowns, and last what they sum to.
using Equation = std::vector<Fraction>;

/// The only solution of all equations; nothing if there is none, are several, or numbers overflow.
std::optional<std::vector<Fraction>> solve_exactly(std::vector<Equation> equations);

}  // namespace highwater
