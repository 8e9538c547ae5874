#include "sim/scaling/size_at.hpp"

#include <algorithm>

namespace highwater {
namespace {

constexpr WideInteger kSizeLimit = WideInteger{1} << 62U;

/// Formulas that round have a factor, a unit or a fraction beside the product: all others are sums
/// whose value is whole at every recording.
bool rounds_by_intent(const SizeFormula& formula) {
  return formula.unit != 1 || !formula.factor.empty() || formula.least || formula.most;
}

Fraction sum_of(const std::vector<SizeTerm>& terms, std::span<const std::uint64_t> values) {
  Fraction sum = 0;
  for (const SizeTerm& term : terms) {
    sum = sum + product_at(term.exponents, values) * Fraction(term.numerator, term.denominator);
  }
  return sum;
}

bool is_absent(const SizeFormula& formula, std::span<const std::uint64_t> values) {
  return !formula.presence.empty() && sum_of(formula.presence, values) < Fraction(1);
}

Bytes at_least_zero(const Fraction& size) {
  return Bytes{static_cast<std::uint64_t>(std::max<WideInteger>(size.numerator(), 0))};
}

/// `size` between the limits, and beyond the upper one where it grows again.
Bytes within_limits(const SizeFormula& formula, const Fraction& size) {
  Bytes bytes = at_least_zero(size);
  bytes = std::max(bytes, formula.least.value_or(bytes));
  bytes = std::min(bytes, formula.most.value_or(bytes));
  if (formula.resume == 0) {
    return bytes;
  }
  const std::uint64_t units =
      at_least_zero(size).count() / std::max<std::uint64_t>(formula.unit, 1);
  return std::max(bytes, Bytes{formula.unit * ((units + formula.resume - 1) / formula.resume)});
}

}  // namespace

std::optional<SizeAt> size_at(const SizeFormula& formula, std::span<const std::uint64_t> values) {
  if (is_absent(formula, values)) {
    return SizeAt{};
  }
  const Fraction sum = sum_of(formula.terms, values);
  const Fraction factor = formula.factor.empty() ? Fraction(1) : product_at(formula.factor, values);
  const Fraction whole = sum.is_valid() ? Fraction(sum.floor()) : sum;
  const Fraction size = whole * factor * Fraction(static_cast<WideInteger>(formula.unit));
  if (!size.is_valid() || size.numerator() >= kSizeLimit) {
    return std::nullopt;
  }
  return SizeAt{within_limits(formula, size), !sum.is_whole() && !rounds_by_intent(formula)};
}

}  // namespace highwater
