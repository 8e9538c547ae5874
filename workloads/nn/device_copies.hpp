// Tensor.to() between the GPUs of one process, seen from one of them. A tensor on another GPU is on
// meta here: it has a shape and a place in the graph, but no block on this device.
//
// ToCopyBackward (tools/autograd/derivatives.yaml: _to_copy) copies the gradient the other way.
#pragma once

#include "workloads/eager/node.hpp"
#include "workloads/eager/ops.hpp"

namespace highwater::pipelining {

/// A tensor of another GPU: no block here.
eager::Tensor elsewhere(eager::Runtime& runtime, const eager::Dims& sizes, DType dtype);

/// A copy here of a tensor elsewhere.
eager::Tensor from_elsewhere(const eager::Tensor& self);

/// A copy elsewhere; its gradient comes back as a block of its own.
eager::Tensor to_elsewhere(const eager::Tensor& self);

}  // namespace highwater::pipelining
