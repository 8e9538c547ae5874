// Who holds a peak, and who made it grow, in one clause.
#pragma once

#include <string>

#include "sim/peak/peak_change.hpp"

namespace highwater {

/// "most is held by train.py:42 step 12.00 MiB, ...": what holds most of it, free memory included.
std::string holders_words(const NamedPeak& peak);

/// "grew most: train.py:42 step +12.00 MiB, ...", "shrank most: ..."; empty if nothing changed.
std::string growth_words(const PeakChange& change);

}  // namespace highwater
