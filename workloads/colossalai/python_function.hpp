// torch.autograd.Function written in Python, in the form that Colossal-AI uses: one tensor in and
// one out.
//
// Such a node has a ctx; unwanted gradients live until all have been delivered.
#pragma once

#include "workloads/eager/node.hpp"

namespace highwater::dist {

/// Marks `node` as that of a Python Function: in addition to what it holds, it has a ctx.
void give_python_context(const eager::Ref<eager::Node>& node);

/// Registers `result`, computed from `input` without gradients, with autograd. `backward` turns the
/// gradient of the result into that of the input.
using PythonBackward = std::function<eager::Tensor(const eager::Tensor&)>;
eager::Tensor python_function(const char* name, const eager::Tensor& input,
                              const std::function<eager::Tensor(const eager::Tensor&)>& forward,
                              PythonBackward backward);

}  // namespace highwater::dist
