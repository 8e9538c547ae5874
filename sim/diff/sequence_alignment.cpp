#include "sim/diff/sequence_alignment.hpp"

#include <algorithm>

namespace highwater {
namespace {

using Tokens = std::span<const std::uint64_t>;

/// One search from the front of both sequences, as far as `max_edits` edits lead.
class EditSearch {
 public:
  EditSearch(Tokens first, Tokens second, std::size_t max_edits)
      : first_(first), second_(second), limit_(static_cast<std::ptrdiff_t>(max_edits)) {}

  /// Steps to the end of both, or to the furthest point that was reached.
  std::vector<AlignmentStep> run() {
    const std::ptrdiff_t most = std::min(limit_, size(first_) + size(second_));
    reached_.assign(static_cast<std::size_t>(2 * most + 3), 0);
    middle_ = most + 1;
    for (std::ptrdiff_t edits = 0; edits <= most; ++edits) {
      if (extend(edits)) {
        return trace_back(edits, size(first_) - size(second_));
      }
    }
    return trace_back(most, furthest_diagonal(most));
  }

 private:
  static std::ptrdiff_t size(Tokens tokens) { return static_cast<std::ptrdiff_t>(tokens.size()); }

  [[nodiscard]] std::ptrdiff_t& at(std::ptrdiff_t diagonal) {
    return reached_[static_cast<std::size_t>(middle_ + diagonal)];
  }

  /// Whether diagonal `k` is entered from k + 1 (an insertion) at edit number `edits` > 0.
  [[nodiscard]] bool comes_from_above(std::ptrdiff_t k, std::ptrdiff_t edits) const {
    return k == -edits ||
           (k != edits && remembered(edits - 1, k - 1) < remembered(edits - 1, k + 1));
  }

  bool extend(std::ptrdiff_t edits) {
    bool arrived = false;
    for (std::ptrdiff_t k = -edits; k <= edits && !arrived; k += 2) {
      std::ptrdiff_t x = 0;
      if (edits != 0) {
        x = comes_from_above(k, edits) ? at(k + 1) : at(k - 1) + 1;
      }
      x = slide(x, k);
      at(k) = x;
      arrived = x >= size(first_) && x - k >= size(second_);
    }
    remember(edits);
    return arrived;
  }

  /// As far as the sequences agree. A point outside (one sequence is used up) stays.
  [[nodiscard]] std::ptrdiff_t slide(std::ptrdiff_t x, std::ptrdiff_t k) const {
    while (x < size(first_) && x - k < size(second_) && x - k >= 0 &&
           first_[static_cast<std::size_t>(x)] == second_[static_cast<std::size_t>(x - k)]) {
      ++x;
    }
    return x;
  }

  void remember(std::ptrdiff_t edits) {
    const auto begin = reached_.begin() + (middle_ - edits);
    history_.emplace_back(begin, begin + 2 * edits + 1);
  }

  [[nodiscard]] std::ptrdiff_t remembered(std::ptrdiff_t edits, std::ptrdiff_t k) const {
    const auto& row = history_[static_cast<std::size_t>(edits)];
    return row[static_cast<std::size_t>(k + edits)];
  }

  [[nodiscard]] bool is_inside(std::ptrdiff_t x, std::ptrdiff_t k) const {
    return x <= size(first_) && x - k <= size(second_) && x - k >= 0;
  }

  [[nodiscard]] std::ptrdiff_t furthest_diagonal(std::ptrdiff_t edits) const {
    std::ptrdiff_t best = -edits;
    std::ptrdiff_t best_sum = -1;
    for (std::ptrdiff_t k = -edits; k <= edits; k += 2) {
      const std::ptrdiff_t x = remembered(edits, k);
      if (is_inside(x, k) && 2 * x - k > best_sum) {
        best_sum = 2 * x - k;
        best = k;
      }
    }
    return best;
  }

  std::vector<AlignmentStep> trace_back(std::ptrdiff_t edits, std::ptrdiff_t k) const {
    std::vector<AlignmentStep> steps;
    std::ptrdiff_t x = remembered(edits, k);
    for (; edits > 0; --edits) {
      const bool above = comes_from_above(k, edits);
      const std::ptrdiff_t from = above ? k + 1 : k - 1;
      const std::ptrdiff_t before = remembered(edits - 1, from);
      const std::ptrdiff_t entered = above ? before : before + 1;
      steps.insert(steps.end(), static_cast<std::size_t>(x - entered), AlignmentStep::both);
      steps.push_back(above ? AlignmentStep::only_second : AlignmentStep::only_first);
      x = before;
      k = from;
    }
    steps.insert(steps.end(), static_cast<std::size_t>(x), AlignmentStep::both);
    std::ranges::reverse(steps);
    return steps;
  }

  Tokens first_;
  Tokens second_;
  std::ptrdiff_t limit_;
  std::ptrdiff_t middle_ = 0;
  std::vector<std::ptrdiff_t> reached_;               ///< by diagonal: how far into `first_`
  std::vector<std::vector<std::ptrdiff_t>> history_;  ///< the same after each number of edits
};

}  // namespace

std::vector<AlignmentStep> align(Tokens first, Tokens second, std::size_t max_edits) {
  std::vector<AlignmentStep> steps;
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < first.size() && j < second.size()) {
    const auto part =
        EditSearch(first.subspan(i), second.subspan(j), std::max<std::size_t>(max_edits, 1)).run();
    for (const AlignmentStep step : part) {
      i += step == AlignmentStep::only_second ? 0U : 1U;
      j += step == AlignmentStep::only_first ? 0U : 1U;
    }
    steps.insert(steps.end(), part.begin(), part.end());
  }
  steps.insert(steps.end(), first.size() - i, AlignmentStep::only_first);
  steps.insert(steps.end(), second.size() - j, AlignmentStep::only_second);
  return steps;
}

}  // namespace highwater
