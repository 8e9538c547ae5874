// A call stack as one short line: the frame that the user wrote, not the library's.
#pragma once

#include <string>
#include <string_view>

#include "traces/ids.hpp"
#include "traces/stack_table.hpp"

namespace highwater {

/// The label where no call stack is known.
inline constexpr std::string_view kNoSite = "(no stack recorded)";

/// "train.py:42 forward": the innermost Python frame outside of PyTorch; for stacks without one
/// (the autograd thread) the innermost frame that is not the allocation itself; kNoSite where
/// there is none. Of a generated trace "mm MmBackward0 layers.*.mlp": operator,
/// autograd node and module, the same place of all layers being one.
std::string site_label(const SideTables& tables, StackId stack);

/// "train.py:42 forward" -> "train.py forward"; empty for labels without a line.
std::string without_line(std::string_view label);

}  // namespace highwater
