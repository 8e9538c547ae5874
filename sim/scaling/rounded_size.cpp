#include "sim/scaling/rounded_size.hpp"

#include <limits>

namespace highwater {
namespace {

constexpr WideInteger kSimplerThanChance = 8;

struct SlopeRange {
  Fraction low = 0;
  Fraction high = std::numeric_limits<std::int64_t>::max();
};

SlopeRange possible_slopes(const RoundedCounts& rounded, Rounding rounding) {
  SlopeRange range;
  for (std::size_t i = 0; i < rounded.counts.size(); ++i) {
    const Fraction& count = rounded.counts[i];
    const bool is_up = rounding == Rounding::up;
    const Fraction from = (is_up ? count - 1 : count) / rounded.products[i];
    const Fraction to = (is_up ? count : count + 1) / rounded.products[i];
    range.low = range.low < from ? from : range.low;
    range.high = to < range.high ? to : range.high;
  }
  return range;
}

bool is_simple(const Fraction& slope, const SlopeRange& range) {
  if (!slope.fits_64() || slope.is_whole()) {
    return false;
  }
  const Fraction denominator = slope.denominator();
  return denominator * denominator * (range.high - range.low) * kSimplerThanChance < Fraction(1);
}

bool gives_all(const RoundedCounts& rounded, const Fraction& slope, Rounding rounding) {
  const Fraction offset = rounding_offset(slope, rounding);
  for (std::size_t i = 0; i < rounded.counts.size(); ++i) {
    const Fraction value = slope * rounded.products[i] + offset;
    if (!value.is_valid() || !(Fraction(value.floor()) == rounded.counts[i])) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::optional<Fraction> rounded_slope(const RoundedCounts& rounded, Rounding rounding) {
  const SlopeRange range = possible_slopes(rounded, rounding);
  if (!(range.low < range.high)) {
    return std::nullopt;
  }
  const Fraction slope = simplest_between(range.low, range.high);
  return is_simple(slope, range) && gives_all(rounded, slope, rounding) ? std::optional(slope)
                                                                        : std::nullopt;
}

Fraction rounding_offset(const Fraction& slope, Rounding rounding) {
  return rounding == Rounding::up ? Fraction(slope.denominator() - 1, slope.denominator())
                                  : Fraction(0);
}

}  // namespace highwater
