// The type of a value that is written without quotes: YAML's plain scalars and words of a command
// line.
#pragma once

#include <string>

#include "workloads/sources/settings/setting.hpp"

namespace highwater {

/// A setting without a key; booleans become true and false, nothing and none become null.
Setting typed_scalar(const std::string& text);

}  // namespace highwater
