// Where a request comes from, in a few words: operator, autograd node, module or line of Python.
#pragma once

#include <string>

#include "traces/stack_table.hpp"

namespace highwater {

/// Of a generated trace: "addmm AddmmBackward0 transformer.h.0.attn.c_attn". Of a recording with
/// C++ frames: operators, innermost first, autograd node, line of Python. With Python frames alone:
/// innermost line, and the first one outside torch. Empty when no stack is known.
std::string request_label(const SideTables& tables, StackId stack);

}  // namespace highwater
