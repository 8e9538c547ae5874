// The largest batch that fits, by search over simulations.
//
// Doubling finds a batch that does not fit, bisection the border between it and the largest that
// did. Memory need not grow evenly with the batch (kernels change, the allocator's segments do), so
// a batch above the border may fit again: the search reports what it tried and claims no more.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/fwd.hpp>

#include "traces/units.hpp"

namespace highwater {

/// One batch that was simulated.
struct BatchTrial {
  std::int64_t batch = 0;
  bool fits = false;
  Bytes peak_reserved;  ///< up to the failure if it did not fit
};

struct BatchSearch {
  std::optional<std::int64_t> largest;           ///< absent: not even 1 fits
  std::optional<std::int64_t> smallest_failing;  ///< absent: `limit` fits
  std::int64_t limit = 0;
  std::vector<BatchTrial> trials;  ///< in the order they were made
};

inline constexpr std::int64_t kLargestBatchTried = 65536;

/// `simulate` is called once per batch, from 1 to `limit`.
BatchSearch find_batch(const std::function<BatchTrial(std::int64_t)>& simulate,
                       std::int64_t limit = kLargestBatchTried);

/// "12 (13 does not fit; tried 1, 2, 4, 8, 16, 12, 14, 13)".
std::string describe(const BatchSearch& search);

boost::json::object batch_search_json(const BatchSearch& search);

}  // namespace highwater
