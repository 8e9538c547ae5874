// torch.autograd.Function written in Python, as far as Colossal-AI's functions go: one tensor in
// and one out.
//
// Such a node has a ctx; gradients that nobody wants live until all have been delivered.
#pragma once

#include "workloads/eager/node.hpp"

namespace highwater::dist {

/// Marks `node` as a Python Function's: whatever else it holds, it has a ctx.
void give_python_context(const eager::Ref<eager::Node>& node);

/// Hands `result`, computed from `input` without gradients, to autograd. `backward` turns the
/// gradient of the result into that of the input.
using PythonBackward = std::function<eager::Tensor(const eager::Tensor&)>;
eager::Tensor python_function(const char* name, const eager::Tensor& input,
                              const std::function<eager::Tensor(const eager::Tensor&)>& forward,
                              PythonBackward backward);

/// A Function that returns its argument.
eager::Tensor python_identity(const char* name, const eager::Tensor& input);

}  // namespace highwater::dist
