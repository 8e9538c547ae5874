// DTensors that are sharded over one group: how they change their layout.
#pragma once

#include <unordered_map>

#include "workloads/distributed/process_group.hpp"
#include "workloads/optim/resharding.hpp"

namespace highwater::dist {

class GroupResharding : public optim::Resharding {
 public:
  /// `group` must outlive this.
  explicit GroupResharding(ProcessGroup& group) : group_(group) {}

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

 private:
  ProcessGroup& group_;
  std::unordered_map<const eager::TensorImpl*, std::int64_t> rows_;
};

}  // namespace highwater::dist
