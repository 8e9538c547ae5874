// ZeRO-Offload of stages 1 and 2: what happens to a gradient on its way to the host.
//
// Source: DeepSpeed 0.16.4, runtime/zero/stage_1_and_2.py (copy_grads_in_partition,
// set_norm_for_param_grad_in_gpu, update_overflow_tracker_for_param_grad,
// async_inplace_copy_grad_to_fp32_buffer_from_gpu). fp32 copies and gradients and the optimizer are
// on the host. Right after its reduction a gradient's norm is taken in fp64, the whole gradient is
// searched for overflow in fp32, and this rank's part goes to the host as fp32.
#pragma once

#include "workloads/deepspeed/common/flat_partition.hpp"
#include "workloads/nn/backward_pass.hpp"
#include "workloads/optim/tensor_vector.hpp"
#include "workloads/plan/deepspeed_release.hpp"

namespace highwater::deepspeed {

class GradientOffload {
 public:
  /// temp_grad_buffer_for_gpu_offload: room for the largest parameter.
  GradientOffload(eager::Runtime& runtime, std::int64_t largest_parameter, DType dtype,
                  DeepspeedRelease release);

  /// `slice` is this rank's part of the parameter. Before the last micro-batch of a step, the
  /// gradient is only added on the host, via the buffer.
  void take(const eager::Tensor& parameter, const PartitionSlice& slice, BackwardPass pass);

  /// complete_grad_norm_calculation_for_cpu_offload and has_overflow: one number on the device, for
  /// the ranks to reduce.
  eager::Tensor number_to_reduce(DType dtype) const;

  /// reset_cpu_buffers: drops the norms of this step.
  void reset();

 private:
  eager::Runtime& runtime_;
  DeepspeedRelease release_;
  eager::Tensor buffer_;
  std::vector<eager::Tensor> norms_;  ///< norm_for_param_grads: a dict, first in first out
};

}  // namespace highwater::deepspeed
