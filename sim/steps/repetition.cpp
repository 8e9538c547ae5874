#include "sim/steps/repetition.hpp"

#include <algorithm>

namespace highwater {
namespace {

constexpr std::size_t kEighths = 8;

using Symbols = std::span<const std::uint32_t>;

/// Symbols from the last one to the first.
class Reversed {
 public:
  explicit Reversed(Symbols symbols) : symbols_(symbols) {}

  [[nodiscard]] std::size_t size() const { return symbols_.size(); }

  std::uint32_t operator[](std::size_t i) const { return symbols_[symbols_.size() - 1 - i]; }

 private:
  Symbols symbols_;
};

/// By index i in [first, matches.size()), how many elements of `text` from there on equal the first
/// ones of `pattern`, of which `known` tells the same beyond index 0: the Z-algorithm.
template <class Pattern, class Text>
void match_prefixes(const Pattern& pattern, const Text& text,
                    const std::vector<std::uint32_t>& known, std::size_t first,
                    std::vector<std::uint32_t>& matches) {
  const std::size_t most = pattern.size();
  const std::size_t end = text.size();
  std::size_t left = 0;
  std::size_t right = 0;  // text[left, right) equals the begin of the pattern
  for (std::size_t i = first; i < matches.size(); ++i) {
    std::size_t length = i < right ? std::min<std::size_t>(right - i, known[i - left]) : 0;
    while (length < most && i + length < end && pattern[length] == text[i + length]) {
      ++length;
    }
    matches[i] = static_cast<std::uint32_t>(length);
    if (i + length > right) {
      left = i;
      right = i + length;
    }
  }
}

/// By index of `symbols`, how many from there on equal the first ones.
template <class Range>
std::vector<std::uint32_t> own_matches(const Range& symbols) {
  std::vector<std::uint32_t> own(symbols.size());
  if (!own.empty()) {
    own[0] = static_cast<std::uint32_t>(own.size());
    match_prefixes(symbols, symbols, own, 1, own);
  }
  return own;
}

/// Of the first `count` positions of `text`.
template <class Pattern, class Text>
std::vector<std::uint32_t> matches_of(const Pattern& pattern, const Text& text, std::size_t count) {
  std::vector<std::uint32_t> matches(count);
  match_prefixes(pattern, text, own_matches(pattern), 0, matches);
  return matches;
}

/// The repetitions of two periods and more across `anchor`, one at most for each period.
void add_runs_across(Symbols symbols, std::size_t anchor, std::vector<Repetition>& runs) {
  const Symbols behind = symbols.subspan(anchor);
  // How far equality with the symbol one period on reaches from the anchor, forward and backward.
  const std::vector<std::uint32_t> forward = own_matches(behind);
  const std::vector<std::uint32_t> backward =
      matches_of(Reversed(symbols.first(anchor)), Reversed(symbols), behind.size());
  for (std::size_t period = 1; period < behind.size(); ++period) {
    const std::size_t left = backward[behind.size() - period];
    const std::size_t right = forward[period];
    if (left + right >= period) {
      runs.push_back({anchor - left, anchor + period + right, period});
    }
  }
}

}  // namespace

std::optional<Repetition> longest_repetition(Symbols symbols) {
  std::vector<Repetition> runs;
  for (std::size_t eighth = 1; eighth < kEighths; ++eighth) {
    add_runs_across(symbols, symbols.size() * eighth / kEighths, runs);
  }
  if (runs.empty()) {
    return std::nullopt;
  }
  const std::size_t longest = std::ranges::max_element(runs, {}, &Repetition::length)->length();
  std::erase_if(runs, [&](const Repetition& run) { return run.length() * 10 < longest * 9; });
  return *std::ranges::min_element(runs, [](const Repetition& a, const Repetition& b) {
    return a.period != b.period ? a.period < b.period : a.length() > b.length();
  });
}

}  // namespace highwater
