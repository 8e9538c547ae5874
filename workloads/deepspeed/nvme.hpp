// offload_optimizer and offload_param to NVMe: what is too small for it, and the host memory that
// everything else passes through.
//
// Source: DeepSpeed 0.16.4 and 0.19.8, runtime/swap_tensor: partitioned_param_swapper.py
// (AsyncPartitionedParameterSwapper), optimizer_utils.py (OptimizerSwapper), utils.py
// (SwapBufferManager); runtime/zero/stage3.py (_configure_tensor_swapping,
// reserve_partitioned_swap_space). The buffers are made once and stay. 0.16.4 asks PyTorch for
// pinned memory, 0.19.8 locks pages of its own (csrc/pin_memory/deepspeed_pin_tensor.cpp). "aio" is
// left at its defaults: blocks of 1 MiB, one thread a request.
#pragma once

#include <cstdint>
#include <span>

#include "workloads/deepspeed/sub_groups.hpp"

namespace highwater {
struct TrainingPlan;
}

namespace highwater::deepspeed {

/// swappable_tensor: at least MIN_AIO_BYTES.
bool is_swappable(std::int64_t bytes);

/// A gradient in fp32 of which a part stays on the GPU until the step: it is too small, or ends in
/// less than AIO_ALIGNED_BYTES, which are a view of it (_adjust_for_misaligned_lengths).
bool leaves_rest(std::int64_t numel);

/// Parameters on NVMe that are in host memory at the moment: each takes one of buffer_count
/// buffers.
class SwapBuffers {
 public:
  explicit SwapBuffers(std::int64_t count) : count_(count) {}

  [[nodiscard]] std::int64_t free() const { return count_ - used_; }

  /// Reads the parameter, unless it is there. @throws InputError if no buffer is left.
  void swap_in(PartitionedParameter& parameter);

  /// remove_partition_and_release_buffers.
  void give_back(PartitionedParameter& parameter);

 private:
  std::int64_t count_;
  std::int64_t used_ = 0;
};

/// buffer_count buffers of buffer_size elements, and one for all updated parameters of a sub-group.
void count_parameter_buffers(eager::Runtime& runtime, const TrainingPlan& plan, DType dtype,
                             std::span<const SubGroup> sub_groups);

/// buffer_count buffers for the largest sub-group in fp32.
void count_optimizer_buffers(eager::Runtime& runtime, const TrainingPlan& plan,
                             std::span<const SubGroup> sub_groups);

}  // namespace highwater::deepspeed
