// Whose code a frame of a call stack is: the user's, or which library's.
//
// A snapshot holds nothing of a frame but its file, line and function, so the path decides: where
// Python installs packages and its own library, on Linux and on Windows. Code that was built in
// place ("pip install -e") lies among the user's own and counts as the user's; only PyTorch is
// known by its folder wherever it lies.
#pragma once

#include <cstdint>
#include <string_view>

namespace highwater {

enum class FrameCode : std::uint8_t {
  user,      ///< Python outside of all that is below, notebooks included
  library,   ///< Python of an installed package
  torch,     ///< Python of PyTorch, or made by its compiler
  standard,  ///< Python's own library, and Python without a file
  native     ///< C++
};

/// Of a frame in `file`.
FrameCode code_of(std::string_view file);

}  // namespace highwater
