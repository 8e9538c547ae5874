#include "sim/scaling/run_alignment.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include "sim/diff/sequence_alignment.hpp"

namespace highwater {
namespace {

/// Cells of the table of scores; beyond, phases are aligned as text is.
constexpr std::size_t kMostCells = std::size_t{1} << 26U;
constexpr std::size_t kMostEdits = 2000;

enum class Way : std::uint8_t { none, both, first, second };

/// The ratios that sizes can have if they are proportional to a product of the integers. Only for
/// telling requests apart, so doubles will do.
class SizeRatios {
 public:
  explicit SizeRatios(const std::vector<Values>& points) {
    for (const Exponents& monomial : monomials_for(points)) {
      double ratio = 1;
      for (std::size_t i = 0; i < monomial.size(); ++i) {
        ratio *= std::pow(static_cast<double>(points[1][i]) / static_cast<double>(points[0][i]),
                          monomial[i]);
      }
      ratios_.push_back(ratio);
    }
    std::ranges::sort(ratios_);
  }

  [[nodiscard]] bool explain(Bytes first, Bytes second) const {
    const double ratio = ratio_of(first, second);
    return std::ranges::any_of(ratios_,
                               [&](double each) { return std::abs(ratio - each) < kSlack * each; });
  }

  [[nodiscard]] bool allow(Bytes first, Bytes second) const {
    const double ratio = ratio_of(first, second);
    return ratio >= ratios_.front() * (1 - kSlack) && ratio <= ratios_.back() * (1 + kSlack);
  }

 private:
  static constexpr double kSlack = 1e-12;

  static double ratio_of(Bytes first, Bytes second) {
    return static_cast<double>(second.count()) /
           static_cast<double>(std::max(first, Bytes{1}).count());
  }

  std::vector<double> ratios_;
};

class RunAlignment {
 public:
  RunAlignment(RunSide& first, RunSide& second, const std::vector<Values>& points)
      : first_(first), second_(second), ratios_(points) {}

  void run() {
    for (const PhaseRange& phase : first_.phases) {
      const auto partner = std::ranges::find(second_.phases, phase.key, &PhaseRange::key);
      if (partner != second_.phases.end()) {
        align_phase(phase, *partner);
      }
    }
  }

 private:
  void align_phase(const PhaseRange& a, const PhaseRange& b) {
    begin_first_ = a.begin;
    begin_second_ = b.begin;
    const std::size_t size = a.end - a.begin;
    const std::size_t other = b.end - b.begin;
    if (size == other && pair_in_order(size)) {
      return;
    }
    if (size * other <= kMostCells) {
      pair_by_score(size, other);
    } else {
      pair_as_text(size, other);
    }
  }

  [[nodiscard]] const ComparedRequest& first_at(std::size_t i) const {
    return first_.requests[begin_first_ + i];
  }

  [[nodiscard]] const ComparedRequest& second_at(std::size_t i) const {
    return second_.requests[begin_second_ + i];
  }

  [[nodiscard]] static bool is_older(const RunSide& side, const ComparedRequest& request,
                                     std::size_t begin) {
    return side.allocated_at[request.ordinal] < begin;
  }

  /// What must be equal for two requests to be the same one.
  [[nodiscard]] bool may_pair(const ComparedRequest& a, const ComparedRequest& b) const {
    if (a.is_alloc != b.is_alloc || first_.sites[a.ordinal] != second_.sites[b.ordinal]) {
      return false;
    }
    if (a.is_alloc) {
      return true;
    }
    const bool older = is_older(first_, a, begin_first_);
    return older == is_older(second_, b, begin_second_) &&
           (!older || first_.partners[a.ordinal] == b.ordinal);
  }

  [[nodiscard]] bool have_same_fate(const ComparedRequest& a, const ComparedRequest& b) const {
    return first_.fates[a.ordinal] == second_.fates[b.ordinal];
  }

  /// Whether the phase has the same requests on both sides, as far as sites, fates and sizes tell;
  /// a few sizes may be odd, as those of workspaces are.
  bool pair_in_order(std::size_t size) {
    constexpr std::size_t kOddOnes = 50;
    std::size_t odd = 0;
    for (std::size_t i = 0; i < size; ++i) {
      const ComparedRequest& a = first_at(i);
      const ComparedRequest& b = second_at(i);
      odd += ratios_.allow(a.bytes, b.bytes) ? 0U : 1U;
      if (!may_pair(a, b) || (a.is_alloc && !have_same_fate(a, b)) || odd * kOddOnes > size) {
        return false;
      }
    }
    for (std::size_t i = 0; i < size; ++i) {
      pair_if_alloc(first_at(i), second_at(i));
    }
    return true;
  }

  void pair_if_alloc(const ComparedRequest& a, const ComparedRequest& b) {
    if (a.is_alloc) {
      first_.partners[a.ordinal] = b.ordinal;
      second_.partners[b.ordinal] = a.ordinal;
    }
  }

  /// How much speaks for it that the two are the same request; nothing if they are not.
  [[nodiscard]] std::optional<int> score(const ComparedRequest& a, const ComparedRequest& b) const {
    constexpr int kFreeOfSame = 5;  // frees may trade places with allocations, which count more
    constexpr int kSameFate = 3;
    constexpr int kRatioExplained = 6;
    constexpr int kRatioAllowed = 2;
    if (!may_pair(a, b)) {
      return std::nullopt;
    }
    if (!a.is_alloc && is_older(first_, a, begin_first_)) {
      return kFreeOfSame;
    }
    const int by_size = ratios_.explain(a.bytes, b.bytes) ? kRatioExplained
                        : ratios_.allow(a.bytes, b.bytes) ? kRatioAllowed
                                                          : 0;
    return by_size == 0 ? std::nullopt
                        : std::optional(by_size + (have_same_fate(a, b) ? kSameFate : 0));
  }

  void pair_by_score(std::size_t size, std::size_t other) {
    const std::size_t width = other + 1;
    std::vector<Way> ways((size + 1) * width, Way::none);
    std::vector<int> above(width, 0);
    std::vector<int> row(width, 0);
    std::fill(ways.begin() + 1, ways.begin() + static_cast<std::ptrdiff_t>(width), Way::second);
    for (std::size_t i = 1; i <= size; ++i) {
      row[0] = 0;
      ways[i * width] = Way::first;
      for (std::size_t j = 1; j <= other; ++j) {
        Way way = above[j] >= row[j - 1] ? Way::first : Way::second;
        int best = std::max(above[j], row[j - 1]);
        const auto paired = score(first_at(i - 1), second_at(j - 1));
        if (paired && above[j - 1] + *paired > best) {
          best = above[j - 1] + *paired;
          way = Way::both;
        }
        row[j] = best;
        ways[i * width + j] = way;
      }
      std::swap(above, row);
    }
    follow(ways, size, other);
  }

  void follow(const std::vector<Way>& ways, std::size_t i, std::size_t j) {
    const std::size_t width = j + 1;
    while (i > 0 || j > 0) {
      const Way way = ways[i * width + j];
      if (way == Way::both) {
        pair_if_alloc(first_at(i - 1), second_at(j - 1));
      }
      i -= way == Way::second ? 0U : 1U;
      j -= way == Way::first ? 0U : 1U;
    }
  }

  std::uint64_t token(const RunSide& side, const ComparedRequest& request, std::size_t begin,
                      bool is_first) const {
    const std::uint32_t partner = side.partners[request.ordinal];
    if (!request.is_alloc && is_older(side, request, begin) && partner != kNoPartner) {
      return is_first ? request.ordinal : partner;
    }
    return side.sites[request.ordinal] ^ (request.is_alloc ? side.fates[request.ordinal] : 1U);
  }

  void pair_as_text(std::size_t size, std::size_t other) {
    std::vector<std::uint64_t> left;
    std::vector<std::uint64_t> right;
    for (std::size_t i = 0; i < size; ++i) {
      left.push_back(token(first_, first_at(i), begin_first_, true));
    }
    for (std::size_t i = 0; i < other; ++i) {
      right.push_back(token(second_, second_at(i), begin_second_, false));
    }
    std::size_t i = 0;
    std::size_t j = 0;
    for (const AlignmentStep step : align(left, right, kMostEdits)) {
      if (step == AlignmentStep::both && may_pair(first_at(i), second_at(j))) {
        pair_if_alloc(first_at(i), second_at(j));
      }
      i += step == AlignmentStep::only_second ? 0U : 1U;
      j += step == AlignmentStep::only_first ? 0U : 1U;
    }
  }

  RunSide& first_;
  RunSide& second_;
  SizeRatios ratios_;
  std::size_t begin_first_ = 0;
  std::size_t begin_second_ = 0;
};

constexpr std::uint64_t kNeverFreed = ~std::uint64_t{0};

/// By ordinal: how many paired allocations come before its free.
std::vector<std::uint64_t> free_places(const RunSide& side) {
  std::vector<std::uint64_t> places(side.partners.size(), kNeverFreed);
  std::uint64_t paired = 0;
  for (const ComparedRequest& request : side.requests) {
    if (!request.is_alloc) {
      places[request.ordinal] = paired;
    } else if (side.partners[request.ordinal] != kNoPartner) {
      ++paired;
    }
  }
  return places;
}

}  // namespace

void align_runs(RunSide& first, RunSide& second, const std::vector<Values>& points) {
  std::ranges::fill(first.partners, kNoPartner);
  std::ranges::fill(second.partners, kNoPartner);
  RunAlignment(first, second, points).run();
}

std::uint64_t reordered_frees(const RunSide& first, const RunSide& second) {
  const std::vector<std::uint64_t> here = free_places(first);
  const std::vector<std::uint64_t> there = free_places(second);
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < here.size(); ++i) {
    const std::uint32_t partner = first.partners[i];
    count += partner != kNoPartner && here[i] != there[partner] ? 1U : 0U;
  }
  return count;
}

}  // namespace highwater
