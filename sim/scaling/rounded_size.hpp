// Sizes that are a number of units rounded down or up: unit * floor(slope * product), or ceil.
//
// Every size bounds the slope from both sides. Of the slopes that give all of them, the one with
// the smallest denominator is taken, if chance alone would hardly have left one so simple: among
// numbers up to a denominator q, neighbours lie about 1 / q^2 apart.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/scaling/fraction.hpp"

namespace highwater {

enum class Rounding : std::uint8_t { down, up };

/// Whole numbers of units, and what they may be proportional to.
struct RoundedCounts {
  std::vector<Fraction> counts;
  std::vector<Fraction> products;
};

/// The slope with which rounding gives all counts; nothing if there is none, or none that is
/// simple.
std::optional<Fraction> rounded_slope(const RoundedCounts& rounded, Rounding rounding);

/// What is added before rounding down, so that it rounds up.
Fraction rounding_offset(const Fraction& slope, Rounding rounding);

}  // namespace highwater
