// Which blocks are alive at the peak of one run and not at that of another, by size and call site.
//
// The peak is the first moment of the most requested bytes, which no settings change. Sizes are set
// side by side, since they match whoever names the sites: a recording's lines of Python and a
// simulation's operators. Of a size, the sites that only one side has, or has more of, say why.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "traces/request_trace.hpp"

namespace highwater {

/// Blocks of one size from one site that the other side lacks.
struct SiteBlocks {
  std::string site;
  std::uint64_t blocks = 0;
};

struct PeakSize {
  Bytes bytes;              ///< of each block, as requested
  std::uint64_t first = 0;  ///< blocks alive at the first side's peak
  std::uint64_t second = 0;
  std::vector<SiteBlocks> only_first;  ///< most blocks first
  std::vector<SiteBlocks> only_second;

  /// Bytes by which the second side holds more.
  [[nodiscard]] std::int64_t change() const;
};

struct PeakSizes {
  Bytes first;  ///< requested bytes at the first side's peak
  Bytes second;
  /// Sizes that differ, the largest difference first; last those whose sites alone do.
  std::vector<PeakSize> rows;
};

/// What a side's blocks are called.
using NameOfSite = std::function<std::string(StackId)>;

PeakSizes compare_peak_sizes(const RequestTrace& first, const RequestTrace& second,
                             const NameOfSite& first_site, const NameOfSite& second_site);

}  // namespace highwater
