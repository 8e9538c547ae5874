// ZeRO stages 1 and 2: gradients are copied into a bucket as they arrive ("independent parallel
// gradient" buffers, ipg) and averaged when it is full, and those of this rank's partition are
// copied out.
//
// Source: DeepSpeed 0.16.4, runtime/zero/stage_1_and_2.py (reduce_independent_p_g_buckets_and_
// remove_grads, average_tensor, allreduce_and_scatter, reduce_ipg_grads, copy_grads_in_partition,
// buffered_reduce_fallback). With overlap_comm all this happens on a separate stream, and two
// buffers alternate. A bucket that spans several ranks' partitions is copied once more, in pieces
// of about the bucket's size, to be reduced; a gradient larger than the bucket is reduced in place.
// Gradients in no bucket (contiguous_gradients off) stay where autograd made them.
#pragma once

#include <vector>

#include "workloads/deepspeed/common/flat_partition.hpp"
#include "workloads/deepspeed/gradient_offload.hpp"
#include "workloads/distributed/process_group.hpp"
#include "workloads/nn/backward_pass.hpp"
#include "workloads/optim/tensor_vector.hpp"
#include "workloads/plan/zero_options.hpp"

namespace highwater::deepspeed {

/// A trainable parameter and its place among those of its group.
struct PlacedParameter {
  eager::Tensor tensor;
  const FlatPartition* partition = nullptr;
  std::size_t index = 0;  ///< in `partition`
  bool is_own = false;    ///< this rank updates a part of it
};

struct BucketOptions {
  Zero zero;
  bool overlaps = false;
  bool partitions_gradients = true;  ///< stage 2
  int rank = 0;
  bool reduces_in_fp32 = false;  ///< where ranks share sequences (allreduce_bucket of 0.19.8)
};

class GradientBuckets {
 public:
  GradientBuckets(dist::ProcessGroup& group, const BucketOptions& options, DType dtype);

  /// Parameters in the order in which later calls name them.
  void set_parameters(std::vector<PlacedParameter> parameters);

  /// Allocates new buffers, at the start of every backward or (setup_buckets) for its first
  /// gradient.
  void allocate();

  /// contiguous_gradients: whether gradients are copied into buffers.
  [[nodiscard]] bool uses_buffer() const { return options_.zero.contiguous_gradients; }

  /// Whether buffers are there.
  [[nodiscard]] bool are_ready() const { return buffers_.size() > 0; }

  /// The gradient of parameter `index` is complete; reduces the bucket first if it would overflow.
  void add(std::size_t index);

  /// Reduces what the bucket holds.
  void reduce();

  /// Own gradients go to the host from now on.
  void offload_to(GradientOffload& offload) { offload_ = &offload; }

  void set_pass(BackwardPass pass) { pass_ = pass; }

  /// Drops gradients of other partitions that waited for the next reduction.
  void clear_reduced_gradients();

  /// Releases the buffers; gradients inside keep theirs alive.
  void release();

 private:
  [[nodiscard]] bool is_too_large(const eager::Tensor& parameter) const;
  void move_into_buffer(const eager::Tensor& gradient);
  void average();
  void average_in_buffer(const eager::Tensor& tensor);
  void average_copies();
  void all_reduce_slices(const eager::Tensor& tensor);
  void all_reduce_copy(const optim::TensorVector& slices);
  [[nodiscard]] std::vector<PartitionSlice> destinations() const;
  void settle(std::size_t index);
  void copy_into_partition(const eager::Tensor& gradient);

  dist::ProcessGroup& group_;
  eager::Runtime& runtime_;
  BucketOptions options_;
  DType dtype_;
  StreamId stream_;  ///< of reductions: the main one without overlap_comm
  std::vector<PlacedParameter> parameters_;
  optim::TensorVector buffers_;
  std::size_t current_ = 0;          ///< buffer that gradients are copied into
  std::vector<std::size_t> bucket_;  ///< parameters whose gradients it holds
  optim::TensorVector held_;         ///< grads_in_ipg_bucket: those gradients
  std::int64_t elements_ = 0;        ///< in the bucket
  eager::Tensor own_gradients_;      ///< grads_in_partition
  std::int64_t own_offset_ = 0;      ///< elements of it that are in use
  GradientOffload* offload_ = nullptr;
  BackwardPass pass_ = BackwardPass::last;  ///< a step follows this backward
  std::vector<std::size_t> reduced_;        ///< previous_reduced_grads
};

}  // namespace highwater::deepspeed
