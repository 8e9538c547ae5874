#include "sim/chance/distribution.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "traces/parse_text.hpp"

namespace highwater {
namespace {

constexpr double kLargestZipf = 1e7;

/// The keys of a kind; the first `needed` of them must be there.
struct KindOfDistribution {
  std::string_view name;
  Distribution::Kind kind;
  std::string_view centre;
  std::string_view spread;  ///< empty: it has none
  bool needs_max = false;
};

constexpr std::array kKinds{
    KindOfDistribution{"lognormal", Distribution::Kind::lognormal, "median", "sigma"},
    KindOfDistribution{"normal", Distribution::Kind::normal, "mean", "sd"},
    KindOfDistribution{"geometric", Distribution::Kind::geometric, "mean", ""},
    KindOfDistribution{"zipf", Distribution::Kind::zipf, "exponent", "", true},
};

constexpr std::string_view kHowToWrite =
    "write uniform:LO..HI, lognormal:median=M,sigma=S,max=N, normal:mean=M,sd=S, geometric:mean=M, "
    "zipf:exponent=S,max=N or a number";

std::vector<double> added_up(double exponent, double min, double max) {
  std::vector<double> sums;
  double sum = 0;
  for (double n = std::max(min, 1.0); n <= max; ++n) {
    sums.push_back(sum += std::pow(n, -exponent));
  }
  return sums;
}

}  // namespace

/// Reads one text; the first mistake ends it.
class DistributionReader {
 public:
  DistributionReader(std::string_view text, double least) : text_(text) { result_.min_ = least; }

  DistributionReading read() {
    const std::size_t colon = text_.find(':');
    if (colon == std::string_view::npos) {
      result_.centre_ = number(text_, "a number");
    } else if (text_.substr(0, colon) == "uniform") {
      read_range(text_.substr(colon + 1));
    } else {
      read_kind(text_.substr(0, colon), text_.substr(colon + 1));
    }
    check();
    return complaint_.empty() ? DistributionReading{result_, ""}
                              : DistributionReading{std::nullopt, complaint_};
  }

 private:
  void complain(const std::string& what) {
    if (complaint_.empty()) {
      complaint_ = what;
    }
  }

  double number(std::string_view word, std::string_view what) {
    const auto value = parse_number<double>(word);
    if (!value || !std::isfinite(*value)) {
      complain(fmt::format("'{}' is not {}; {}", word, what, kHowToWrite));
    }
    return value.value_or(0);
  }

  void read_range(std::string_view range) {
    result_.kind_ = Distribution::Kind::uniform;
    const std::size_t dots = range.find("..");
    if (dots == std::string_view::npos) {
      complain("a range is missing; write uniform:128..2048");
      return;
    }
    const double low = number(range.substr(0, dots), "the low end of a range");
    result_.max_ = number(range.substr(dots + 2), "the high end of a range");
    if (low < result_.min_ || *result_.max_ < low) {
      complain(fmt::format("the range is empty or begins below {}; write uniform:128..2048",
                           result_.min_));
    }
    result_.min_ = low;
  }

  void read_kind(std::string_view name, std::string_view keys) {
    const auto* const kind = std::ranges::find(kKinds, name, &KindOfDistribution::name);
    if (kind == kKinds.end()) {
      complain(fmt::format("unknown distribution '{}'; {}", name, kHowToWrite));
      return;
    }
    result_.kind_ = kind->kind;
    std::map<std::string_view, double> values = read_keys(keys);
    result_.centre_ = take(values, kind->centre);
    result_.spread_ = kind->spread.empty() ? 0 : take(values, kind->spread);
    result_.min_ =
        std::max(result_.min_, values.contains("min") ? take(values, "min") : result_.min_);
    if (kind->needs_max || values.contains("max")) {
      result_.max_ = take(values, "max");
    }
    if (!values.empty()) {
      complain(fmt::format("{} has no '{}'; {}", name, values.begin()->first, kHowToWrite));
    }
  }

  std::map<std::string_view, double> read_keys(std::string_view keys) {
    std::map<std::string_view, double> values;
    while (!keys.empty()) {
      const std::size_t comma = std::min(keys.find(','), keys.size());
      const std::string_view entry = keys.substr(0, comma);
      const std::size_t equals = std::min(entry.find('='), entry.size());
      const std::string_view word = entry.substr(std::min(equals + 1, entry.size()));
      values[entry.substr(0, equals)] = number(word, "a number");
      keys.remove_prefix(std::min(comma + 1, keys.size()));
    }
    return values;
  }

  double take(std::map<std::string_view, double>& values, std::string_view key) {
    const auto found = values.find(key);
    if (found == values.end()) {
      complain(fmt::format("'{}=' is missing; {}", key, kHowToWrite));
      return 1;
    }
    const double value = found->second;
    values.erase(found);
    return value;
  }

  void check() {
    using Kind = Distribution::Kind;
    if (!complaint_.empty()) {
      return;
    }
    if (result_.max_ && *result_.max_ < result_.min_) {
      complain(fmt::format("max is below {}, the smallest value", result_.min_));
    } else if (result_.spread_ < 0) {
      complain("the spread is below 0");
    } else if (result_.kind_ == Kind::constant && result_.centre_ < result_.min_) {
      complain(fmt::format("below {}, the smallest value that makes sense", result_.min_));
    } else if (result_.kind_ == Kind::lognormal && result_.centre_ <= 0) {
      complain("the median of a lognormal distribution is above 0");
    } else if (result_.kind_ == Kind::geometric && result_.centre_ < 1) {
      complain("the mean of a geometric distribution is 1 or more");
    } else if (result_.kind_ == Kind::zipf) {
      add_up_zipf();
    }
  }

  void add_up_zipf() {
    if (*result_.max_ > kLargestZipf) {
      complain("zipf: max is above 10000000");
      return;
    }
    result_.cumulative_ = added_up(result_.centre_, result_.min_, *result_.max_);
    if (result_.cumulative_.empty()) {
      complain("zipf: max is below 1");
    }
  }

  std::string_view text_;
  Distribution result_;
  std::string complaint_;
};

double Distribution::raw(RandomNumbers& numbers) const {
  switch (kind_) {
    case Kind::constant:
      return centre_;
    case Kind::uniform:
      return min_ + (*max_ - min_) * numbers.fraction();
    case Kind::lognormal:
      return centre_ * std::exp(spread_ * numbers.normal());
    case Kind::normal:
      return centre_ + spread_ * numbers.normal();
    case Kind::geometric:
      return centre_ <= 1
                 ? 1
                 : 1 + std::floor(std::log1p(-numbers.fraction()) / std::log1p(-1 / centre_));
    case Kind::zipf: {
      const double at = numbers.fraction() * cumulative_.back();
      const auto found = std::ranges::upper_bound(cumulative_, at);
      return std::max(min_, 1.0) + static_cast<double>(found - cumulative_.begin());
    }
  }
  return centre_;
}

double Distribution::bounded(double value) const {
  return std::max(min_, max_ ? std::min(value, *max_) : value);
}

std::int64_t Distribution::draw(RandomNumbers& numbers) const {
  if (kind_ == Kind::uniform) {
    const auto low = static_cast<std::int64_t>(std::ceil(min_));
    const auto high = static_cast<std::int64_t>(std::floor(*max_));
    return low + static_cast<std::int64_t>(numbers.below(
                     static_cast<std::uint64_t>(std::max(high - low, std::int64_t{0})) + 1));
  }
  return std::llround(bounded(raw(numbers)));
}

double Distribution::draw_real(RandomNumbers& numbers) const {
  return bounded(raw(numbers));
}

std::optional<double> Distribution::largest() const {
  return kind_ == Kind::constant ? std::optional(centre_) : max_;
}

DistributionReading read_distribution(std::string_view text, double least) {
  return DistributionReader(text, least).read();
}

bool names_distribution(std::string_view text) {
  const std::string_view name = text.substr(0, text.find(':'));
  return parse_number<double>(text) || name == "uniform" ||
         (name.size() < text.size() &&
          std::ranges::find(kKinds, name, &KindOfDistribution::name) != kKinds.end());
}

}  // namespace highwater
