// One dimension of a DeviceMesh as DTensors use it: how tensors are split over its ranks and which
// collectives convert them from one layout to another.
//
// Mirrors torch/distributed/tensor/placement_types.py and _functional_collectives.py of
// PyTorch 2.6. Functional collectives are asynchronous; the main stream waits where the result is
// used first, which is soon enough to let it wait at once here.
#pragma once

#include <optional>

#include "workloads/distributed/process_group.hpp"
#include "workloads/plan/parallel_kinds.hpp"

namespace highwater::dist {

class DeviceMesh {
 public:
  DeviceMesh(eager::Runtime& runtime, int ranks, int rank, CommBackend backend)
      : own_(std::in_place, runtime, ranks, backend), group_(*own_), rank_(rank) {}

  /// Of a group that exists, and outlives this.
  DeviceMesh(ProcessGroup& group, int rank) : group_(group), rank_(rank) {}

  DeviceMesh(const DeviceMesh&) = delete;
  DeviceMesh& operator=(const DeviceMesh&) = delete;
  ~DeviceMesh() = default;

  [[nodiscard]] eager::Runtime& runtime() const { return group_.runtime(); }

  [[nodiscard]] int size() const { return group_.size(); }

  [[nodiscard]] int rank() const { return rank_; }

  /// Elements of a dimension of `size` that this rank holds, in pieces like torch.chunk's
  /// (Shard._local_shard_size_on_dim); the last ranks may hold fewer or none.
  [[nodiscard]] std::int64_t shard_size(std::int64_t size) const;

  /// distribute_tensor with Shard(dim): rank 0's tensor is cut, padded and scattered.
  eager::Tensor scatter(const eager::Tensor& whole, std::int64_t dim);

  /// Partial to Replicate: the sum in a new block.
  eager::Tensor all_reduce(const eager::Tensor& tensor);

  /// Shard(dim) to Replicate; `size` is the whole dimension's.
  eager::Tensor all_gather(const eager::Tensor& shard, std::int64_t dim, std::int64_t size);

  /// Partial to Shard(dim).
  eager::Tensor reduce_scatter(const eager::Tensor& tensor, std::int64_t dim);

  /// Shard(from) to Shard(to) of a tensor of `sizes`: pieces are exchanged.
  eager::Tensor all_to_all(const eager::Tensor& shard, const eager::Dims& sizes, std::int64_t from,
                           std::int64_t to);

  /// The result of the next sum is waited for only when it is used (async_op=True,
  /// AsyncCollectiveTensor): the current stream waits no later than before the next collective.
  void wait_at_use() { waits_at_use_ = true; }

  /// Replicate to Shard(dim): this rank's piece, copied.
  [[nodiscard]] eager::Tensor piece(const eager::Tensor& tensor, std::int64_t dim) const;

 private:
  [[nodiscard]] std::int64_t chunk_size(std::int64_t size) const;
  [[nodiscard]] eager::TensorList padded_pieces(const eager::Tensor& whole, std::int64_t dim) const;

  void wait_for_last();
  void finish(const Work& work);

  std::optional<ProcessGroup> own_;
  ProcessGroup& group_;
  int rank_;
  bool waits_at_use_ = false;
  Work pending_;
};

}  // namespace highwater::dist
