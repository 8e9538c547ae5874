// What DTensor does if an operator of an optimizer or of clipping needs more than this rank's rows:
// torch/distributed/tensor (PyTorch 2.6), tensors sharded along dimension 0; and how matrices that
// are made of them change their layout (PyTorch 2.15).
#pragma once

#include <cstdint>

#include "workloads/eager/tensor.hpp"

namespace highwater::optim {

/// How a matrix lies over the ranks: whole on each, its rows or columns divided, or as a sum of
/// which each rank has a part (placement_types.py: Replicate, Shard(0), Shard(1), Partial).
enum class Layout : std::uint8_t { whole, rows, columns, partial };

/// Two sides of a matrix that is a DTensor.
struct MatrixSize {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

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

  /// Ranks over which parameters are divided.
  [[nodiscard]] virtual int ranks() const = 0;

  /// redistribute_local_tensor (_redistribute.py) of a matrix of `size`, between different layouts.
  virtual eager::Tensor redistribute(const eager::Tensor& local, MatrixSize size, Layout from,
                                     Layout to) const = 0;
};

}  // namespace highwater::optim
