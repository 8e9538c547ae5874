// A call stack as one short line: the frame that the user wrote, with the library's below it.
#pragma once

#include <string>
#include <string_view>

#include "traces/ids.hpp"
#include "traces/stack_table.hpp"

namespace highwater {

/// The label where no call stack is known.
inline constexpr std::string_view kNoSite = "(no stack recorded)";

/// "train.py:42 step (linear.py:125 forward)": the innermost Python frame of the user's own code,
/// and the innermost frame of the library that it called (frame_code.hpp), PyTorch's where it
/// called no other. Without a frame of the user's, the innermost of an installed package; without
/// Python (the autograd thread) "MulBackward0 (mul_Tensor)"; else the innermost frame that is not
/// the allocation itself; kNoSite where there is none. Of a generated trace "mm MmBackward0
/// layers.*.mlp": operator, autograd node and module, the same place of all layers being one.
std::string site_label(const SideTables& tables, StackId stack);

/// "train.py:42 step (linear.py:125 forward)" -> "train.py step (linear.py forward)"; empty for
/// labels without a line.
std::string without_line(std::string_view label);

}  // namespace highwater
