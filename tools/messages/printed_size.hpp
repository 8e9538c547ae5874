// A size as a message prints it: "29.40 GiB" is anything that rounds to it.
//
// A verdict from printed sizes has to hold for all that they may stand for, so each knows how far
// the size may lie from what is printed. PyTorch prints two decimals of KiB, MiB and GiB, and whole
// bytes below (format_size in c10/cuda/CUDACachingAllocator.cpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace highwater {

/// Differences of sizes may be below 0.
struct SizeRange {
  std::int64_t low = 0;
  std::int64_t high = 0;

  friend SizeRange operator+(SizeRange a, SizeRange b) { return {a.low + b.low, a.high + b.high}; }

  friend SizeRange operator-(SizeRange a, SizeRange b) { return {a.low - b.high, a.high - b.low}; }

  /// Surely so, whatever was rounded away.
  [[nodiscard]] bool is_above(SizeRange other) const { return low > other.high; }

  [[nodiscard]] bool is_at_most(SizeRange other) const { return high <= other.low; }
};

/// The smaller of the two.
SizeRange least(SizeRange a, SizeRange b);

struct PrintedSize {
  std::int64_t bytes = 0;  ///< what is printed
  std::int64_t half = 0;   ///< how far the size itself may be from it
  std::string text;        ///< "29.40 GiB"

  [[nodiscard]] SizeRange range() const { return {bytes - half, bytes + half}; }
};

/// The size at the front of `text`, a message without white space in lower case; it is taken off.
/// Nothing for what is no size or more than an exabyte.
std::optional<PrintedSize> take_printed_size(std::string_view& text);

/// Digits, with a point among them if there is one ("12", "0.9"), taken off the front.
std::string_view take_decimal(std::string_view& text);

}  // namespace highwater
