#include "sim/steps/repetition.hpp"

#include <algorithm>

namespace highwater {
namespace {

constexpr std::size_t kEighths = 8;

using Symbols = std::span<const std::uint32_t>;

std::vector<std::uint32_t> reversed(Symbols symbols) {
  return {symbols.rbegin(), symbols.rend()};
}

/// The repetitions of two periods and more across `anchor`, one at most for each period.
void add_runs_across(Symbols symbols, std::size_t anchor, std::vector<Repetition>& runs) {
  const Symbols behind = symbols.subspan(anchor);
  const std::vector<std::uint32_t> before = reversed(symbols.first(anchor));
  // How far equality with the symbol one period on reaches from the anchor, forward and backward.
  const std::vector<std::uint32_t> forward = prefix_matches(behind, behind);
  const std::vector<std::uint32_t> backward = prefix_matches(before, reversed(symbols));
  for (std::size_t period = 1; period < behind.size(); ++period) {
    const std::size_t left = backward[behind.size() - period];
    const std::size_t right = forward[period];
    if (left + right >= period) {
      runs.push_back({anchor - left, anchor + period + right, period});
    }
  }
}

}  // namespace

std::vector<std::uint32_t> prefix_matches(Symbols pattern, Symbols text) {
  // The Z-algorithm on the pattern, then the same on the text with the pattern's answers.
  const auto match = [&](Symbols against, const std::vector<std::uint32_t>& known,
                         std::size_t first, std::vector<std::uint32_t>& result) {
    std::size_t left = 0;
    std::size_t right = 0;  // against[left, right) equals the begin of the pattern
    for (std::size_t i = first; i < against.size(); ++i) {
      std::size_t length = i < right ? std::min<std::size_t>(right - i, known[i - left]) : 0;
      while (length < pattern.size() && i + length < against.size() &&
             pattern[length] == against[i + length]) {
        ++length;
      }
      result[i] = static_cast<std::uint32_t>(length);
      if (i + length > right) {
        left = i;
        right = i + length;
      }
    }
  };
  std::vector<std::uint32_t> own(pattern.size());
  if (!own.empty()) {
    own[0] = static_cast<std::uint32_t>(pattern.size());
  }
  match(pattern, own, 1, own);
  std::vector<std::uint32_t> result(text.size());
  match(text, own, 0, result);
  return result;
}

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
