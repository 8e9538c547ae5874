// Where ordinary tensors become DTensors and back: the autograd functions around operators that
// work on shards.
//
// Mirrors torch/distributed/tensor/_api.py (_FromTorchTensor, _ToTorchTensor) and _redistribute.py
// (Redistribute) of PyTorch 2.6. A DTensor is represented by its local tensor; its one peculiarity,
// that its gradients are never summed in place, is attached to the autograd node that created it.
#pragma once

#include "workloads/distributed/device_mesh.hpp"

namespace highwater::dist {

/// A change of layout: a function of a local tensor.
using Conversion = std::function<eager::Tensor(const eager::Tensor&)>;

/// The conversion that keeps everything as it is.
eager::Tensor unchanged(const eager::Tensor& local);

/// DTensor.from_local(local, mesh, placements, run_check=False). `gradient_back` takes the gradient
/// from the layout that operators leave it in to that of `local`.
eager::Tensor from_local(const eager::Tensor& local, Conversion gradient_back = unchanged);

/// DTensor.to_local().
eager::Tensor to_local(const eager::Tensor& dtensor);

/// DTensor.redistribute(): `forward` makes the new local tensor, `backward` the gradient's.
eager::Tensor redistribute(const eager::Tensor& dtensor, const Conversion& forward,
                           Conversion backward);

/// Operators work on DTensors for the lifetime of this scope.
class DispatchDTensors : eager::Scoped<bool> {
 public:
  explicit DispatchDTensors(eager::Runtime& runtime, bool is_on = true)
      : Scoped(runtime.dispatches_dtensors, is_on) {}
};

}  // namespace highwater::dist
