// What a DTensor parameter holds besides its local shard: the whole shape, and the layouts of the
// parameter and of its gradient over the ranks.
//
// Operators on DTensors work on the local tensors, which is all that a Tensor represents here. The
// two layouts matter where an operator meets both (optimizers): the gradient is brought to the
// parameter's layout for that operator alone (torch/distributed/tensor/_dispatch.py of PyTorch 2.6:
// redistribute_local_args).
#pragma once

#include <cstdint>
#include <functional>

#include "workloads/eager/tensor.hpp"

namespace highwater::eager {

/// A tensor's layout over one dimension of a device mesh (placement_types.py).
enum class Placement : std::uint8_t { replicate, shard, partial };

struct DTensorSpec {
  Dims sizes;  ///< of the whole tensor
  Placement placement = Placement::replicate;
  Placement grad_placement = Placement::replicate;
  /// A copy of the parameter's gradient, or of a tensor made from it, in the parameter's layout.
  std::function<Tensor(const Tensor&)> redistribute;
  /// A copy of the parameter in its gradient's layout.
  std::function<Tensor(const Tensor&)> like_gradient;
  /// The sum over the mesh of a value of which each rank has a part.
  std::function<Tensor(const Tensor&)> all_reduce;

  [[nodiscard]] bool gradient_moves() const { return placement != grad_placement; }
};

}  // namespace highwater::eager
