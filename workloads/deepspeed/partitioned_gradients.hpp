// ZeRO-3's gradients: whole ones in a bucket until it is full, then scattered, and this rank's
// partitions are kept in their own buffer.
//
// Source: DeepSpeed 0.16.4, runtime/zero/stage3.py (__add_grad_to_ipg_bucket, __avg_scatter_grads,
// partition_grads) and runtime/comm/coalesced_collectives.py (reduce_scatter_coalesced). Both
// buffers are allocated once and stay. A bucket is copied once more to be scattered, unless it
// holds a single gradient that divides evenly. With offload_optimizer the partitions are on the
// host: each comes to the GPU once more for its norm and goes back as fp32. Where ranks share
// sequences, gradients are sent in fp32 (seq_parallel_communication_data_type).
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "workloads/deepspeed/partitioned_parameter.hpp"
#include "workloads/nn/backward_pass.hpp"
#include "workloads/optim/tensor_vector.hpp"
#include "workloads/plan/zero_options.hpp"

namespace highwater::deepspeed {

struct GradientTypes {
  DType sent;  ///< communication_data_type: of the bucket
  DType kept;  ///< gradient_accumulation_dtype: of the partitions
};

/// Where partitions of gradients live.
struct GradientPlace {
  bool offloads = false;  ///< offload_optimizer
  bool pins = false;      ///< its pin_memory
};

class PartitionedGradients {
 public:
  /// `parameters` are the trainable ones, sub-group by sub-group.
  PartitionedGradients(dist::ProcessGroup& group, const Zero& options, int rank,
                       GradientTypes types, const std::vector<PartitionedParameter*>& parameters,
                       GradientPlace place);

  /// A parameter's gradient is complete; reduces the bucket first if it would overflow.
  void add(PartitionedParameter& parameter);

  /// Reduces what the bucket holds, on the stream of reductions.
  void reduce();

  /// The host waits for all reductions.
  void finish();

  /// Which backward of a step runs: norms and fp32 copies are made only at the boundary.
  void set_micro_step(int micro_step, BackwardPass pass) {
    micro_step_ = micro_step;
    pass_ = pass;
  }

  /// norm_for_param_grads of an offloaded gradient; undefined if this rank has no part.
  [[nodiscard]] eager::Tensor norm_of(const PartitionedParameter& parameter) const;

  /// reset_cpu_buffers.
  void reset_norms();

  /// Gradients that could not leave for NVMe move to the host, where the sub-group is updated.
  void take_rest_of(std::size_t sub_group);

  /// This rank's part of the gradient.
  [[nodiscard]] eager::Tensor partition_of(const PartitionedParameter& parameter) const;

  [[nodiscard]] const eager::Tensor& buffer() const { return partitions_; }

  [[nodiscard]] StreamId stream() const { return stream_; }

 private:
  void average_and_scatter();
  void average_and_scatter_bucket();
  [[nodiscard]] eager::TensorList gradients_to_send() const;
  eager::Tensor reduce_scatter(const eager::TensorList& gradients);
  [[nodiscard]] optim::TensorVector paddings_of_parts() const;
  [[nodiscard]] std::vector<int> ends_of_like_ranks() const;
  [[nodiscard]] eager::TensorList own_parts_as_kept() const;
  enum class Offloaded : std::uint8_t { own_part, padded_part };
  void release_gradients(Offloaded offloaded);
  void offload(const PartitionedParameter& parameter, std::int64_t numel);
  std::vector<eager::Tensor>& leaving(std::size_t sub_group);
  void swap_out_gradients();
  [[nodiscard]] std::int64_t padding(const PartitionedParameter& parameter, int rank) const;

  dist::ProcessGroup& group_;
  eager::Runtime& runtime_;
  Zero options_;
  int rank_;
  GradientTypes types_;
  StreamId stream_;
  eager::Tensor bucket_;                                         ///< ipg_bucket_flat_buffer
  eager::Tensor partitions_;                                     ///< grad_partitions_flat_buffer
  std::map<const PartitionedParameter*, std::int64_t> offsets_;  ///< in `partitions_`
  std::vector<PartitionedParameter*> in_bucket_;
  std::int64_t elements_ = 0;
  bool offloads_;
  int micro_step_ = 0;
  BackwardPass pass_ = BackwardPass::last;
  eager::Tensor grad_buffer_;  ///< the variable of partition_grads: a partition on the GPU
  std::vector<std::pair<const PartitionedParameter*, eager::Tensor>> norms_;
  /// offload_fp32_gradients: on their way to NVMe, by sub-group in the order of the first one.
  std::vector<std::pair<std::size_t, std::vector<eager::Tensor>>> leaving_;
  /// unswapped_gradients: what stays on the GPU until the step.
  std::map<std::size_t, std::vector<eager::Tensor>> staying_;
};

}  // namespace highwater::deepspeed
