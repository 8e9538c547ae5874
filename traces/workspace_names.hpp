// How recordings name the blocks that a library computes in: as the operator in front of the call
// stack, "cuDNN workspace (convolution)". `highwater record` writes the same words.
#pragma once

#include <string_view>

namespace highwater {

inline constexpr std::string_view kCudnnWorkspace = "cuDNN workspace";

}  // namespace highwater
