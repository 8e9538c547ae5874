// Passes that make a program shorter or plainer while it still shows a property.
#pragma once

#include "sim/reduction/program.hpp"
#include "sim/reduction/property_check.hpp"

namespace highwater {

/// Without the allocations that the property does not need, each with its frees and its uses on
/// other streams: first those that are given back, by the order of their requests, then those that
/// stay, the smallest first. The last allocation of a program that has to fail stays.
Program without_needless_allocations(const Program& program, PropertyCheck& check);

/// Without other operations that it does not need: frees, uses on other streams, completions,
/// flushes of the cache, pools, changes of settings.
Program without_needless_operations(const Program& program, PropertyCheck& check);

/// Without private pools and streams that it does not need: their requests go to the default ones.
Program without_needless_places(const Program& program, PropertyCheck& check);

/// With sizes that are as small and as round as it allows: first all blocks of a size alike, then
/// each block by itself.
Program with_simpler_sizes(const Program& program, PropertyCheck& check);

}  // namespace highwater
