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

}  // namespace

std::optional<SizeAt> size_at(const SizeFormula& formula, std::span<const std::uint64_t> values) {
  Fraction sum = 0;
  for (const SizeTerm& term : formula.terms) {
    sum = sum + product_at(term.exponents, values) * Fraction(term.numerator, term.denominator);
  }
  const Fraction factor = formula.factor.empty() ? Fraction(1) : product_at(formula.factor, values);
  const Fraction whole = sum.is_valid() ? Fraction(sum.floor()) : sum;
  const Fraction size = whole * factor * Fraction(static_cast<WideInteger>(formula.unit));
  if (!size.is_valid() || size.numerator() >= kSizeLimit) {
    return std::nullopt;
  }
  Bytes bytes{static_cast<std::uint64_t>(std::max<WideInteger>(size.numerator(), 0))};
  bytes = std::max(bytes, formula.least.value_or(bytes));
  bytes = std::min(bytes, formula.most.value_or(bytes));
  return SizeAt{bytes, !sum.is_whole() && !rounds_by_intent(formula)};
}

}  // namespace highwater
