// DTensors that are sharded over one group: how they change their layout.
#pragma once

#include <unordered_map>

#include "workloads/distributed/device_mesh.hpp"
#include "workloads/optim/resharding.hpp"

namespace highwater::dist {

class GroupResharding : public optim::Resharding {
 public:
  /// `group` must outlive this.
  GroupResharding(ProcessGroup& group, int rank) : group_(group), mesh_(group, rank) {}

  /// `shard` is a part of a tensor with so many rows.
  void add(const eager::Tensor& shard, std::int64_t rows) { rows_[shard.get()] = rows; }

  [[nodiscard]] std::int64_t whole_rows(const eager::Tensor& shard) const override {
    return rows_.at(shard.get());
  }

  /// Powers are summed by a functional all-reduce, which works on a copy, and the root is taken of
  /// the sum (torch/distributed/tensor/_ops/_math_ops.py: _reduce_value).
  eager::Tensor full_norm(const eager::Tensor& partial) const override;

  /// Fewer rows than on the first rank are padded (placement_types.py: _to_replicate_tensor).
  eager::Tensor gather(const eager::Tensor& shard, std::int64_t rows) const override;

  [[nodiscard]] int ranks() const override { return group_.size(); }

  eager::Tensor redistribute(const eager::Tensor& local, optim::MatrixSize size, optim::Layout from,
                             optim::Layout to) const override;

 private:
  ProcessGroup& group_;
  mutable DeviceMesh mesh_;
  std::unordered_map<const eager::TensorImpl*, std::int64_t> rows_;
};

}  // namespace highwater::dist
