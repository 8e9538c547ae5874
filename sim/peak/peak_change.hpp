// Why the peak of one run differs from that of another, to the byte.
//
// Both peaks are broken down at their own moments (peak_breakdown.hpp) and set side by side three
// times: by call site, by category and by kind of segment. In each list every byte of both peaks
// is counted once, so the changes sum to the change of the peak, and so does each part by itself.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/peak/peak_breakdown.hpp"

namespace highwater {

/// The name of a call site, and the part of it that does not change when the line moves.
struct SiteName {
  std::string name;          ///< "train.py:42 forward"
  std::string without_line;  ///< "train.py forward"; empty: only the name itself can match
};

/// One side.
struct PeakSide {
  const PeakBreakdown* peak = nullptr;
  const RequestTrace* trace = nullptr;
  std::function<SiteName(StackId)> site;
};

/// What holds memory at a peak, by name.
struct NamedShare {
  SiteName name;
  std::uint64_t count = 0;  ///< blocks; of segments, segments
  MemoryBreakdown parts;
};

/// A peak by the names of what holds it. It needs no trace any more, so it can be kept in a file.
struct NamedPeak {
  MemoryBreakdown parts;
  std::vector<NamedShare> sites;  ///< every call site known, also those that hold nothing then
  std::vector<NamedShare> categories;
  std::vector<NamedShare> segments;  ///< by class, pool and stream
};

NamedPeak named_peak(const PeakSide& side);

/// What has the same name on both sides; all 0 on a side that has nothing of that name.
struct PeakRow {
  std::string name;
  std::string second_name;  ///< if the line moved; else empty
  std::uint64_t first_count = 0;
  std::uint64_t second_count = 0;
  MemoryBreakdown first;
  MemoryBreakdown second;
  bool is_remainder = false;  ///< memory without a holder: listed after the others

  [[nodiscard]] std::int64_t change() const;
};

/// Rows with something on either side, the largest change first, remainders last.
using PeakRows = std::vector<PeakRow>;

struct PeakChange {
  PeakRow total;        ///< the two peaks
  PeakRows sites;       ///< blocks by who asked for them; free memory as remainders
  PeakRows categories;  ///< the same by category; one "unknown" row for recordings
  PeakRows segments;    ///< by class, pool and stream; counts are segments
};

/// Sites match by name. A name that only one side knows matches by the name without line,
/// provided that this names exactly one site on each side: the function has moved in its file.
PeakChange change_of_peak(const NamedPeak& first, const NamedPeak& second);

inline PeakChange change_of_peak(const PeakSide& first, const PeakSide& second) {
  return change_of_peak(named_peak(first), named_peak(second));
}

/// The sum of `rows`, [begin, end).
PeakRow sum_of(const PeakRows& rows, std::size_t begin, std::size_t end);

/// second - first. @pre both below 2^63
std::int64_t difference(Bytes first, Bytes second);

}  // namespace highwater
