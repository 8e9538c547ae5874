// Products of powers of the named integers, of low degree, and what they are at each recording.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/scaling/fraction.hpp"
#include "traces/scalable_program.hpp"

namespace highwater {

/// Values of the named integers, in their order.
using Values = std::vector<std::uint64_t>;

/// Invalid where it exceeds 128 bits.
Fraction product_at(const Exponents& exponents, std::span<const std::uint64_t> values);

/// 1 first, then what sizes most often are proportional to: the product of all integers, each by
/// itself, then squares. An integer that is the same in every point has no power.
std::vector<Exponents> monomials_for(const std::vector<Values>& points);

}  // namespace highwater
