// Fractions of 128-bit integers that notice when they overflow: a fit is exact or it is none.
#pragma once

#include <cstdint>
#include <optional>

namespace highwater {

__extension__ using WideInteger = __int128;

/// A fraction in lowest terms with a positive denominator, or the mark of an overflow, which every
/// further operation keeps.
class Fraction {
 public:
  Fraction() = default;

  Fraction(WideInteger numerator,
           WideInteger denominator = 1);  // NOLINT(google-explicit-constructor)

  /// False after an overflow, or a division by zero.
  [[nodiscard]] bool is_valid() const { return denominator_ != 0; }

  [[nodiscard]] WideInteger numerator() const { return numerator_; }

  [[nodiscard]] WideInteger denominator() const { return denominator_; }

  [[nodiscard]] bool is_whole() const { return denominator_ == 1; }

  [[nodiscard]] bool is_zero() const { return is_valid() && numerator_ == 0; }

  /// The largest whole number that is not above it. @pre is_valid()
  [[nodiscard]] WideInteger floor() const;

  /// Numerator and denominator, if both fit.
  [[nodiscard]] bool fits_64() const;

  friend Fraction operator+(const Fraction& a, const Fraction& b);
  friend Fraction operator-(const Fraction& a, const Fraction& b);
  friend Fraction operator*(const Fraction& a, const Fraction& b);
  friend Fraction operator/(const Fraction& a, const Fraction& b);

  /// Nothing equals an overflow.
  friend bool operator==(const Fraction& a, const Fraction& b) {
    return a.is_valid() && b.is_valid() && a.numerator_ == b.numerator_ &&
           a.denominator_ == b.denominator_;
  }

  /// False if either overflowed.
  friend bool operator<(const Fraction& a, const Fraction& b);

 private:
  static Fraction overflow();

  WideInteger numerator_ = 0;
  WideInteger denominator_ = 1;
};

/// The product, or nothing where it overflows.
std::optional<WideInteger> times(WideInteger a, WideInteger b);

/// The fraction with the smallest denominator from `low` to `high`. @pre 0 <= low < high
Fraction simplest_between(Fraction low, const Fraction& high);

}  // namespace highwater
