// The tables of `simulate` about one rank: peaks, what they are made of, phases, and who holds it.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "tools/text/table.hpp"

namespace highwater {

struct CategoryBytes;
struct Simulation;

/// How many holders of the peak a report lists.
inline constexpr std::size_t kHoldersShown = 8;

/// Categories and their bytes, also those of 0, rounding last; they sum to the allocated bytes.
std::vector<std::pair<std::string, Bytes>> parts_of(const CategoryBytes& bytes);

/// The first step, later ones and the whole run.
Table peaks_table(const Simulation& simulation);

/// Allocated bytes at the peak by category.
Table breakdown_table(const Simulation& simulation);

/// The highest values of each phase, in the first step and in later ones.
Table phases_table(const Simulation& simulation);

/// The call sites that hold most at the peak.
Table holders_table(const Simulation& simulation);

}  // namespace highwater
