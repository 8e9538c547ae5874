// The formula of one size, from what it was in some of the recordings.
//
// Tried in this order; the first that gives every size exactly, and is confirmed, is taken,
// otherwise the first that gives every size:
//
//     1. one product of the integers, or a sum of two, with fractions as coefficients
//     2. one product held at a least or a most, or a sum of two held at a most (work in pieces)
//     3. a product times a number rounded down or up, c * b * ceil(s / 128)
//     4. a sum of three products
//
// and where none does, a line through two of the recordings: estimated. All arithmetic is exact. A
// formula is `confirmed` if there are more recordings than it has terms, and no other formula of
// its kind gives their sizes, too.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "sim/scaling/monomials.hpp"
#include "traces/scalable_program.hpp"

namespace highwater {

/// A size in the recordings; absent where a recording makes no such request.
using SizeSamples = std::vector<std::optional<Bytes>>;

/// Finds formulas for sizes in the same recordings, and remembers those that it has found.
class SizeFitter {
 public:
  explicit SizeFitter(std::vector<Values> points);

  /// @pre one sample per point, at least one of them present
  const SizeFormula& fit(const SizeSamples& samples);

 private:
  /// The points at which a size is known, and what it is.
  struct Known {
    std::vector<std::size_t> points;
    std::vector<Fraction> sizes;
  };

  using Chosen = std::vector<std::size_t>;  ///< indices of monomials

  /// base + slope * monomial, and how far the sizes lie from it.
  struct Line {
    std::size_t monomial = 0;
    Fraction slope = 0;
    Fraction base = 0;
    Fraction distance = 0;
  };

  [[nodiscard]] SizeFormula find(const SizeSamples& samples) const;
  [[nodiscard]] SizeFormula first_confirmed(const Known& known) const;
  [[nodiscard]] std::optional<SizeFormula> one_term(const Known& known) const;
  [[nodiscard]] std::optional<SizeFormula> two_terms(const Known& known) const;
  [[nodiscard]] std::optional<SizeFormula> three_terms(const Known& known) const;
  [[nodiscard]] std::optional<SizeFormula> sum_of(const Known& known, std::size_t terms) const;
  [[nodiscard]] std::optional<SizeFormula> limited(const Known& known) const;
  [[nodiscard]] std::optional<SizeFormula> limited_by(const Known& known,
                                                      std::size_t monomial) const;
  [[nodiscard]] std::optional<SizeFormula> limited_slope(const Known& known, std::size_t monomial,
                                                         const Fraction& slope) const;
  [[nodiscard]] std::optional<SizeFormula> limited_sum(const Known& known) const;
  [[nodiscard]] std::optional<SizeFormula> rounded(const Known& known) const;
  [[nodiscard]] std::optional<SizeFormula> rounded_multiple(const Known& known, std::size_t factor,
                                                            std::size_t monomial) const;
  [[nodiscard]] Fraction value_of(const SizeFormula& sum, std::size_t point) const;
  [[nodiscard]] SizeFormula line(const Known& known) const;
  [[nodiscard]] std::optional<Line> line_along(const Known& known, std::size_t monomial) const;
  [[nodiscard]] std::optional<std::vector<Fraction>> solve(const Known& known,
                                                           const Chosen& chosen) const;
  [[nodiscard]] SizeFormula formula(const Chosen& chosen,
                                    const std::vector<Fraction>& coefficients) const;

  [[nodiscard]] const Fraction& product(std::size_t monomial, std::size_t point) const {
    return products_[monomial][point];
  }

  [[nodiscard]] const Fraction& at(const Known& known, std::size_t monomial, std::size_t i) const {
    return product(monomial, known.points[i]);
  }

  std::vector<Exponents> monomials_;
  std::vector<std::vector<Fraction>> products_;  ///< by monomial, then by point
  std::map<SizeSamples, SizeFormula> found_;
};

}  // namespace highwater
