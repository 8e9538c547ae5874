#include "sim/scaling/fraction.hpp"

#include <limits>

namespace highwater {
namespace {

WideInteger greatest_divisor(WideInteger a, WideInteger b) {
  a = a < 0 ? -a : a;
  b = b < 0 ? -b : b;
  while (b != 0) {
    const WideInteger rest = a % b;
    a = b;
    b = rest;
  }
  return a == 0 ? 1 : a;
}

}  // namespace

std::optional<WideInteger> times(WideInteger a, WideInteger b) {
  WideInteger product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::nullopt : std::optional(product);
}

Fraction::Fraction(WideInteger numerator, WideInteger denominator)
    : numerator_(numerator), denominator_(denominator) {
  if (denominator_ == 0) {
    return;
  }
  const WideInteger divisor = greatest_divisor(numerator_, denominator_);
  const WideInteger sign = denominator_ < 0 ? -1 : 1;
  numerator_ = sign * numerator_ / divisor;
  denominator_ = sign * denominator_ / divisor;
}

Fraction Fraction::overflow() {
  Fraction result;
  result.denominator_ = 0;
  return result;
}

WideInteger Fraction::floor() const {
  const WideInteger quotient = numerator_ / denominator_;
  return numerator_ % denominator_ < 0 ? quotient - 1 : quotient;
}

bool Fraction::fits_64() const {
  constexpr WideInteger kMost = std::numeric_limits<std::int64_t>::max();
  return is_valid() && numerator_ <= kMost && numerator_ >= -kMost && denominator_ <= kMost;
}

Fraction operator+(const Fraction& a, const Fraction& b) {
  const auto left = times(a.numerator_, b.denominator_);
  const auto right = times(b.numerator_, a.denominator_);
  const auto below = times(a.denominator_, b.denominator_);
  WideInteger sum = 0;
  if (!left || !right || !below || __builtin_add_overflow(*left, *right, &sum)) {
    return Fraction::overflow();
  }
  return {sum, *below};
}

Fraction operator-(const Fraction& a, const Fraction& b) {
  return a + b * Fraction(-1);
}

Fraction operator*(const Fraction& a, const Fraction& b) {
  const auto above = times(a.numerator_, b.numerator_);
  const auto below = times(a.denominator_, b.denominator_);
  return above && below ? Fraction(*above, *below) : Fraction::overflow();
}

Fraction operator/(const Fraction& a, const Fraction& b) {
  const auto above = times(a.numerator_, b.denominator_);
  const auto below = times(a.denominator_, b.numerator_);
  return above && below ? Fraction(*above, *below) : Fraction::overflow();
}

bool operator<(const Fraction& a, const Fraction& b) {
  const Fraction difference = a - b;
  return difference.is_valid() && difference.numerator_ < 0;
}

Fraction simplest_between(Fraction low, const Fraction& high) {
  if (!low.is_valid() || low.is_whole()) {
    return low;
  }
  const WideInteger whole = low.floor();
  if (Fraction(whole + 1) < high) {
    return whole + 1;
  }
  // Both lie between whole and whole + 1: the simplest of what their rests are the inverse of. The
  // end that belongs to the range changes sides, which matters for the ends alone.
  const Fraction rest_low = low - whole;
  const Fraction rest_high = high - whole;
  return Fraction(whole) +
         Fraction(1) / simplest_between(Fraction(1) / rest_high, Fraction(1) / rest_low);
}

}  // namespace highwater
