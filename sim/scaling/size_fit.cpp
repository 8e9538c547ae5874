#include "sim/scaling/size_fit.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "sim/scaling/linear_system.hpp"
#include "sim/scaling/rounded_size.hpp"

namespace highwater {
namespace {

/// Sizes are whole multiples of elements; masks of bits, pooling and patches divide by small
/// squares.
constexpr WideInteger kLargestDenominator = 1024;
constexpr WideInteger kLargestDenominatorOfSum = 256;

/// Whether it goes on: the next choice of indices below `count`, in ascending order.
bool next_choice(std::vector<std::size_t>& chosen, std::size_t count) {
  for (std::size_t i = chosen.size(); i-- > 0;) {
    if (chosen[i] + chosen.size() - i < count) {
      std::iota(chosen.begin() + static_cast<std::ptrdiff_t>(i), chosen.end(), chosen[i] + 1);
      return true;
    }
  }
  return false;
}

bool is_plausible(const std::vector<Fraction>& coefficients) {
  const WideInteger largest =
      coefficients.size() == 1 ? kLargestDenominator : kLargestDenominatorOfSum;
  return std::ranges::all_of(coefficients, [&](const Fraction& each) {
    return each.fits_64() && !each.is_zero() && each.denominator() <= largest;
  });
}

/// Sums of positive whole multiples come first: concatenated and padded tensors. Then fractions, as
/// of patches of a picture; something is taken away only where labels are shifted.
std::ptrdiff_t oddity(const std::vector<Fraction>& coefficients) {
  std::ptrdiff_t odd = 0;
  for (const Fraction& each : coefficients) {
    odd += (each.is_whole() ? 0 : 1) + (each < Fraction(0) ? 2 : 0);
  }
  return odd;
}

Bytes as_bytes(const Fraction& size) {
  return Bytes{static_cast<std::uint64_t>(size.numerator())};
}

template <class Range>
std::size_t distinct(const Range& values) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    count += std::find(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(i),
                       values[i]) == values.begin() + static_cast<std::ptrdiff_t>(i)
                 ? 1U
                 : 0U;
  }
  return count;
}

WideInteger common_divisor(const std::vector<Fraction>& numbers) {
  std::uint64_t divisor = 0;
  for (const Fraction& number : numbers) {
    divisor = std::gcd(divisor, static_cast<std::uint64_t>(number.numerator()));
  }
  return static_cast<WideInteger>(divisor);
}

}  // namespace

SizeFitter::SizeFitter(std::vector<Values> points) : monomials_(monomials_for(points)) {
  for (const Exponents& monomial : monomials_) {
    auto& products = products_.emplace_back();
    for (const Values& values : points) {
      products.push_back(product_at(monomial, values));
    }
  }
}

const SizeFormula& SizeFitter::fit(const SizeSamples& samples) {
  const auto known = found_.find(samples);
  return known != found_.end() ? known->second
                               : found_.emplace(samples, find(samples)).first->second;
}

SizeFormula SizeFitter::find(const SizeSamples& samples) const {
  Known known;
  Bytes largest;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (samples[i]) {
      known.points.push_back(i);
      known.sizes.emplace_back(static_cast<WideInteger>(samples[i]->count()));
      largest = std::max(largest, *samples[i]);
    }
  }
  SizeFormula formula = first_confirmed(known);
  formula.largest_recorded = largest;
  return formula;
}

/// Of the forms that give all sizes; if none is confirmed, the first of them.
SizeFormula SizeFitter::first_confirmed(const Known& known) const {
  constexpr std::array kForms{&SizeFitter::one_term, &SizeFitter::two_terms,
                              &SizeFitter::limited,  &SizeFitter::limited_sum,
                              &SizeFitter::rounded,  &SizeFitter::three_terms};
  std::optional<SizeFormula> first;
  for (const auto form : kForms) {
    auto found = (this->*form)(known);
    if (found && found->basis == FormulaBasis::confirmed) {
      return *found;
    }
    if (!first) {
      first = std::move(found);
    }
  }
  return first ? *first : line(known);
}

std::optional<SizeFormula> SizeFitter::one_term(const Known& known) const {
  return sum_of(known, 1);
}

std::optional<SizeFormula> SizeFitter::two_terms(const Known& known) const {
  return known.points.size() >= 2 ? sum_of(known, 2) : std::nullopt;
}

/// With three sizes three terms would say nothing.
std::optional<SizeFormula> SizeFitter::three_terms(const Known& known) const {
  return known.points.size() > 3 ? sum_of(known, 3) : std::nullopt;
}

std::optional<SizeFormula> SizeFitter::sum_of(const Known& known, std::size_t terms) const {
  if (terms > monomials_.size()) {
    return std::nullopt;
  }
  std::vector<std::pair<Chosen, std::vector<Fraction>>> fits;
  Chosen chosen(terms);
  std::iota(chosen.begin(), chosen.end(), std::size_t{0});
  do {
    auto coefficients = solve(known, chosen);
    if (coefficients && is_plausible(*coefficients)) {
      fits.emplace_back(chosen, std::move(*coefficients));
    }
  } while (next_choice(chosen, monomials_.size()));
  if (fits.empty()) {
    return std::nullopt;
  }
  std::ranges::stable_sort(fits, {}, [](const auto& fit) { return oddity(fit.second); });
  SizeFormula result = formula(fits.front().first, fits.front().second);
  const bool is_only = fits.size() == 1;
  const bool is_checked = known.points.size() > terms;
  result.basis = is_only && is_checked ? FormulaBasis::confirmed : FormulaBasis::determined;
  return result;
}

std::optional<std::vector<Fraction>> SizeFitter::solve(const Known& known,
                                                       const Chosen& chosen) const {
  std::vector<Equation> equations;
  for (std::size_t i = 0; i < known.points.size(); ++i) {
    Equation equation;
    for (const std::size_t monomial : chosen) {
      equation.push_back(product(monomial, known.points[i]));
    }
    equation.push_back(known.sizes[i]);
    equations.push_back(std::move(equation));
  }
  return solve_exactly(std::move(equations));
}

SizeFormula SizeFitter::formula(const Chosen& chosen,
                                const std::vector<Fraction>& coefficients) const {
  SizeFormula result;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    if (coefficients[i].is_zero()) {
      continue;
    }
    result.terms.push_back({monomials_[chosen[i]],
                            static_cast<std::int64_t>(coefficients[i].numerator()),
                            static_cast<std::int64_t>(coefficients[i].denominator())});
  }
  return result;
}

std::optional<SizeFormula> SizeFitter::limited(const Known& known) const {
  for (std::size_t monomial = 1; monomial < monomials_.size(); ++monomial) {
    if (auto found = limited_by(known, monomial)) {
      return found;
    }
  }
  return std::nullopt;
}

/// The slope is that of two sizes or more; whatever else there is lies at one limit.
std::optional<SizeFormula> SizeFitter::limited_by(const Known& known, std::size_t monomial) const {
  for (std::size_t i = 0; i < known.points.size(); ++i) {
    const Fraction slope = known.sizes[i] / product(monomial, known.points[i]);
    if (auto found = limited_slope(known, monomial, slope)) {
      return found;
    }
  }
  return std::nullopt;
}

std::optional<SizeFormula> SizeFitter::limited_slope(const Known& known, std::size_t monomial,
                                                     const Fraction& slope) const {
  const auto [low, high] = std::ranges::minmax_element(known.sizes, std::less<>());
  std::vector<Fraction> on_slope;
  std::size_t at_most = 0;
  std::size_t at_least = 0;
  for (std::size_t i = 0; i < known.points.size(); ++i) {
    const Fraction proportional = slope * product(monomial, known.points[i]);
    if (proportional == known.sizes[i]) {
      on_slope.push_back(product(monomial, known.points[i]));
    } else if (known.sizes[i] < proportional && known.sizes[i] == *high) {
      ++at_most;
    } else if (proportional < known.sizes[i] && known.sizes[i] == *low) {
      ++at_least;
    }
  }
  const bool gives_all = on_slope.size() + at_most + at_least == known.points.size();
  const bool has_one_limit = (at_most == 0) != (at_least == 0);
  if (!gives_all || !has_one_limit || distinct(on_slope) < 2 || !is_plausible({slope})) {
    return std::nullopt;
  }
  SizeFormula result = formula({monomial}, {slope});
  (at_most != 0 ? result.most : result.least) = as_bytes(at_most != 0 ? *high : *low);
  const bool is_checked = std::max(at_most, at_least) > 1 && on_slope.size() > 2;
  result.basis = is_checked ? FormulaBasis::confirmed : FormulaBasis::determined;
  return result;
}

/// The largest size is the limit, and the others, more than two, follow one sum that exceeds it.
std::optional<SizeFormula> SizeFitter::limited_sum(const Known& known) const {
  const Fraction most = *std::ranges::max_element(known.sizes, std::less<>());
  Known below;
  for (std::size_t i = 0; i < known.points.size(); ++i) {
    if (known.sizes[i] < most) {
      below.points.push_back(known.points[i]);
      below.sizes.push_back(known.sizes[i]);
    }
  }
  auto sum = two_terms(below);
  if (!sum || sum->basis != FormulaBasis::confirmed) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < known.points.size(); ++i) {
    if (known.sizes[i] == most && !(most < value_of(*sum, known.points[i]))) {
      return std::nullopt;
    }
  }
  sum->most = as_bytes(most);
  const bool is_checked = known.points.size() > below.points.size() + 1;
  sum->basis = is_checked ? FormulaBasis::confirmed : FormulaBasis::determined;
  return sum;
}

Fraction SizeFitter::value_of(const SizeFormula& sum, std::size_t point) const {
  Fraction value = 0;
  for (const SizeTerm& term : sum.terms) {
    const auto monomial = std::ranges::find(monomials_, term.exponents) - monomials_.begin();
    value = value + Fraction(term.numerator, term.denominator) *
                        product(static_cast<std::size_t>(monomial), point);
  }
  return value;
}

std::optional<SizeFormula> SizeFitter::rounded(const Known& known) const {
  for (std::size_t factor = 0; factor < monomials_.size(); ++factor) {
    for (std::size_t monomial = 1; monomial < monomials_.size(); ++monomial) {
      if (auto found = rounded_multiple(known, factor, monomial)) {
        return found;
      }
    }
  }
  return std::nullopt;
}

/// size = unit * factor * floor(slope * monomial), or ceil.
std::optional<SizeFormula> SizeFitter::rounded_multiple(const Known& known, std::size_t factor,
                                                        std::size_t monomial) const {
  RoundedCounts rounded;
  for (std::size_t i = 0; i < known.points.size(); ++i) {
    rounded.counts.push_back(known.sizes[i] / product(factor, known.points[i]));
    rounded.products.push_back(product(monomial, known.points[i]));
    if (!rounded.counts.back().is_whole()) {
      return std::nullopt;
    }
  }
  constexpr std::size_t kFewest = 3;  // two ends of a range say nothing of what lies between
  if (distinct(rounded.products) < kFewest) {
    return std::nullopt;
  }
  const WideInteger unit = common_divisor(rounded.counts);
  for (Fraction& count : rounded.counts) {
    count = count / unit;
  }
  for (const Rounding rounding : {Rounding::down, Rounding::up}) {
    if (const auto slope = rounded_slope(rounded, rounding)) {
      SizeFormula result = formula({monomial, 0}, {*slope, rounding_offset(*slope, rounding)});
      result.unit = static_cast<std::uint64_t>(unit);
      result.factor = monomials_[factor];
      return result;
    }
  }
  return std::nullopt;
}

/// Of the products that grow, the one whose line through smallest and largest passes the other
/// sizes at the least distance.
SizeFormula SizeFitter::line(const Known& known) const {
  std::optional<Line> best;
  for (std::size_t monomial = 1; monomial < monomials_.size(); ++monomial) {
    const auto line = line_along(known, monomial);
    if (line && (!best || line->distance < best->distance)) {
      best = line;
    }
  }
  // Without any, sizes shrink or numbers are beyond all bounds: the largest then.
  SizeFormula result = best ? formula({best->monomial, 0}, {best->slope, best->base})
                            : formula({0}, {*std::ranges::max_element(known.sizes, std::less<>())});
  result.least = Bytes{};
  result.basis = FormulaBasis::estimated;
  return result;
}

std::optional<SizeFitter::Line> SizeFitter::line_along(const Known& known,
                                                       std::size_t monomial) const {
  std::size_t first = 0;
  std::size_t last = 0;
  for (std::size_t i = 0; i < known.points.size(); ++i) {
    first = at(known, monomial, i) < at(known, monomial, first) ? i : first;
    last = at(known, monomial, last) < at(known, monomial, i) ? i : last;
  }
  Line line{monomial};
  line.slope = (known.sizes[last] - known.sizes[first]) /
               (at(known, monomial, last) - at(known, monomial, first));
  line.base = known.sizes[first] - line.slope * at(known, monomial, first);
  if (!line.slope.fits_64() || !line.base.fits_64() || line.slope < Fraction(0)) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < known.points.size(); ++i) {
    const Fraction off = line.base + line.slope * at(known, monomial, i) - known.sizes[i];
    line.distance = line.distance + (off < Fraction(0) ? off * Fraction(-1) : off);
  }
  return line.distance.is_valid() ? std::optional(line) : std::nullopt;
}

}  // namespace highwater
