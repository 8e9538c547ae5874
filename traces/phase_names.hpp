// Names of the stretches of a run that no phase marker names.
#pragma once

#include <string_view>

namespace highwater {

inline constexpr std::string_view kBeforeSteps = "init";      ///< before the first marker
inline constexpr std::string_view kStepBegin = "step_begin";  ///< before the first phase of a step

}  // namespace highwater
