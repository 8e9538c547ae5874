// The longest repetition in a sequence of symbols, in linear time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace highwater {

/// symbols[i] == symbols[i + period] for all i in [begin, end - period).
struct Repetition {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t period = 0;

  [[nodiscard]] std::size_t length() const { return end - begin; }

  bool operator==(const Repetition&) const = default;
};

/// Among the repetitions of at least two periods across one of seven evenly spaced anchors, the one
/// with the smallest period whose length is at least 9/10 of the longest. Every repetition longer
/// than an eighth of the sequence crosses an anchor. Method: the runs across a position, by common
/// prefixes and suffixes (Main & Lorentz, J. Algorithms 5, 1984).
std::optional<Repetition> longest_repetition(std::span<const std::uint32_t> symbols);

}  // namespace highwater
