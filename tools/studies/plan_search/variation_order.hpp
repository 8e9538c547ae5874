// Which variations of a candidate need at least as much memory as others.
#pragma once

#include "tools/studies/plan_search/candidates.hpp"

namespace highwater {

/// Whether `a` needs at least what `b` does.
bool needs_no_less(const Variation& a, const Variation& b);

}  // namespace highwater
