// How traces name the begin and the end of a CUDA graph's capture: as operators, since a capture is
// neither a step nor a phase of training. `highwater record` writes the same words.
#pragma once

#include <string_view>

namespace highwater {

inline constexpr std::string_view kCaptureBegins = "cuda graph capture begins";
inline constexpr std::string_view kCaptureEnds = "cuda graph capture ends";

}  // namespace highwater
