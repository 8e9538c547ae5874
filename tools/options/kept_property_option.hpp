// --keep of `reduce`: what has to remain visible.
#pragma once

#include <string_view>

#include "sim/reduction/reduction.hpp"

namespace highwater {

/// "oom", "peak>=20GiB", "fragmentation>=0.3" or "fragmentation>=30%". @throws UsageError
WantedProperty parse_wanted_property(std::string_view text);

}  // namespace highwater
