// Copies between the GPU and the host (ATen/native/TensorConversions.cpp: _to_copy;
// ATen/native/cuda/Copy.cu: copy_requires_temporaries, copy_kernel_cuda of PyTorch 2.6).
//
// A copy to the host needs a contiguous source if both sides' layouts differ: a temporary block on
// the GPU. A non-blocking copy goes to pinned memory, which _to_copy requests itself.
#pragma once

#include "workloads/eager/tensor.hpp"

namespace highwater::eager {

/// torch.empty(sizes, dtype, pin_memory=True).
Tensor empty_pinned(Runtime& runtime, const Dims& sizes, DType dtype);

/// Tensor.pin_memory() of a pageable tensor: a copy.
Tensor pin_memory(const Tensor& self);

/// self.to("cpu", non_blocking); `self` is on the GPU. Without non_blocking the host waits and the
/// copy is pageable.
Tensor to_host(const Tensor& self, bool non_blocking);

/// target.copy_(self) from the GPU into contiguous host memory; the host waits.
void copy_to_host(const Tensor& target, const Tensor& self);

/// self.to("cuda", non_blocking=True) of a tensor in pinned memory.
Tensor to_device(const Tensor& self);

}  // namespace highwater::eager
