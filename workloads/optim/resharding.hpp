// What DTensor does if an operator of an optimizer or of clipping needs more than this rank's rows:
// torch/distributed/tensor (PyTorch 2.6), tensors sharded along dimension 0.
#pragma once

#include <cstdint>

#include "workloads/eager/tensor.hpp"

namespace highwater::optim {

class Resharding {
 public:
  Resharding() = default;
  Resharding(const Resharding&) = delete;
  Resharding& operator=(const Resharding&) = delete;
  virtual ~Resharding() = default;

  /// Rows of the whole parameter of which `shard` is a part.
  [[nodiscard]] virtual std::int64_t whole_rows(const eager::Tensor& shard) const = 0;

  /// Partial to Replicate: combines the norms of all shards into that of the whole (_NormPartial).
  virtual eager::Tensor full_norm(const eager::Tensor& partial) const = 0;

  /// Shard(0) to Replicate.
  virtual eager::Tensor gather(const eager::Tensor& shard, std::int64_t rows) const = 0;
};

}  // namespace highwater::optim
