// What a script may ask of a module that fully_shard was applied to (FSDPModule in PyTorch's
// torch/distributed/fsdp/_fully_shard/_fully_shard.py).
#pragma once

#include "workloads/eager/tensor.hpp"
#include "workloads/nn/backward_pass.hpp"

namespace highwater::nn {

class ShardedUnit {
 public:
  ShardedUnit() = default;
  ShardedUnit(const ShardedUnit&) = delete;
  ShardedUnit& operator=(const ShardedUnit&) = delete;
  virtual ~ShardedUnit() = default;

  /// unshard(): gathers the parameters now.
  virtual void unshard() = 0;

  /// reshard(): frees the gathered parameters.
  virtual void reshard() = 0;

  /// DTensor.full_tensor() of one of its parameters; one that is gathered is whole already.
  virtual eager::Tensor full_tensor(const eager::Tensor& parameter) = 0;

  /// set_reshard_after_forward() and set_reshard_after_backward(), both at once.
  virtual void set_resharding(AfterUse use) = 0;

  /// set_requires_gradient_sync(sync, recurse=False).
  virtual void set_unit_sync(GradientSync sync) = 0;
};

}  // namespace highwater::nn
