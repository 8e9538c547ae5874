// How full the fixed-size buckets are in which an optimizer keeps gradients and states.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "traces/units.hpp"

namespace highwater {

/// A size of the buckets and what it leaves empty.
struct BucketSize {
  double mb = 0;              ///< MiB of a bucket's fp32 gradients
  std::int64_t buckets = 0;   ///< of one rank
  std::int64_t elements = 0;  ///< in all buckets, filled or not
};

struct BucketUse {
  BucketSize chosen;
  std::int64_t filled = 0;       ///< elements of parameters
  double bytes_per_element = 0;  ///< of gradients and this rank's states
  /// The largest size in whole MiB below the chosen one that leaves less than a twentieth empty.
  /// Absent if the chosen one does.
  std::optional<BucketSize> right;

  /// What the elements take that no parameter fills.
  [[nodiscard]] Bytes empty(const BucketSize& size) const {
    return Bytes{static_cast<std::uint64_t>(static_cast<double>(size.elements - filled) *
                                            bytes_per_element)};
  }
};

/// "buckets of 200 MiB, 25 of them, keep 3.5 GiB empty; ..." and the option that mends it.
std::string describe_empty(const BucketUse& use);

}  // namespace highwater
