// Where the values of a plan or a program that fit end, by search over simulations: the largest
// batch, the smallest number of GPUs.
//
// Doubling finds a value on the other side of the border, bisection the border itself: an answer
// that was simulated and fits, and the next value, which was simulated and does not. Memory need
// not grow evenly (kernels change, the allocator's segments do), so a value beyond the border may
// fit again: the search reports what it tried and claims no more.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "traces/units.hpp"

namespace highwater {

/// Which of the values that fit is looked for.
enum class WantedValue : std::uint8_t { largest, least };

/// One value that was simulated.
struct ValueTrial {
  std::int64_t value = 0;
  bool fits = false;
  Bytes peak_reserved;       ///< up to the failure if it did not fit
  std::string refusal = {};  ///< why there is no such run, where there is none
};

struct ValueSearch {
  std::optional<std::int64_t> best;  ///< that fits; absent: none does
  std::optional<std::int64_t> next;  ///< of those that do not fit the nearest; absent: all do
  std::int64_t limit = 0;
  std::vector<ValueTrial> trials;  ///< in the order they were made
};

inline constexpr std::int64_t kLargestValueTried = 65536;

/// `simulate` is called once per value, from 1 to `limit`.
ValueSearch find_value(const std::function<ValueTrial(std::int64_t)>& simulate,
                       WantedValue wanted = WantedValue::largest,
                       std::int64_t limit = kLargestValueTried);

/// "12 (13 does not fit; tried 1, 2, 4, 8, 16, 12, 14, 13)", of a largest value.
std::string describe(const ValueSearch& search);

}  // namespace highwater
