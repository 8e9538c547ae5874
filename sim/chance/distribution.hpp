// Distributions of lengths, loads and delays, as people write them.
//
//   uniform:LO..HI                                    each whole number from LO to HI alike
//   lognormal:median=M,sigma=S[,min=A][,max=B]        lengths of texts: many short, few very long
//   normal:mean=M,sd=S[,min=A][,max=B]
//   geometric:mean=M[,min=A][,max=B]
//   zipf:exponent=S,max=B[,min=A]                     n with a chance in proportion to 1 / n^S
//   N                                                 always N
//
// What lies outside min and max becomes min or max, as tokenizers cut what is too long. Lengths are
// rounded to the nearest whole number.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/chance/random_numbers.hpp"

namespace highwater {

class Distribution {
 public:
  enum class Kind : std::uint8_t { constant, uniform, lognormal, normal, geometric, zipf };

  [[nodiscard]] std::int64_t draw(RandomNumbers& numbers) const;

  /// Without rounding.
  [[nodiscard]] double draw_real(RandomNumbers& numbers) const;

  /// The largest number that is ever drawn; absent where it is unbounded.
  [[nodiscard]] std::optional<double> largest() const;

  /// No draw is below it.
  [[nodiscard]] double smallest() const { return min_; }

 private:
  friend class DistributionReader;

  [[nodiscard]] double raw(RandomNumbers& numbers) const;
  [[nodiscard]] double bounded(double value) const;

  Kind kind_ = Kind::constant;
  double centre_ = 0;  ///< the constant, the median or mean; of zipf the exponent
  double spread_ = 0;
  double min_ = 0;
  std::optional<double> max_;
  std::vector<double> cumulative_;  ///< of zipf: chances of min_, min_ + 1, ..., added up
};

/// What is wrong with a distribution: what it is, and what to write.
struct DistributionReading {
  std::optional<Distribution> value;
  std::string complaint;  ///< empty if there is a value
};

/// `least`: the smallest value that makes sense, from which draws are cut.
DistributionReading read_distribution(std::string_view text, double least);

/// Whether `text` is meant to be a distribution, not the name of a file.
bool names_distribution(std::string_view text);

}  // namespace highwater
