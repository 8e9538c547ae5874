// The fewest options that say the same plan: what others imply is left out, so that an option that
// is changed takes what it implies along.
#pragma once

#include "workloads/plan/options/option_table.hpp"

namespace highwater {

/// Model, GPU and releases stay, since the plan should be the same tomorrow; so does whatever is no
/// option of plans. Words that cannot be read are returned as they are.
OptionWords shortest_words(OptionWords words);

}  // namespace highwater
