// Host memory of ZeRO-Offload on one rank: what is pinned, and how much that actually takes.
//
// Source: DeepSpeed 0.16.4, runtime/zero/stage_1_and_2.py (single_partition_of_fp32_groups, which
// is always pinned; initialize_optimizer_states, temp_grad_buffer_for_cpu_offload and
// accumulated_grads_in_cpu, which are with pin_memory) and ops/adam/cpu_adam.py. Pinned memory
// comes from PyTorch's CachingHostAllocator, which rounds each request up to a power of two
// (ATen/core/CachingHostAllocator.h, PyTorch 2.6).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "workloads/plan/dtype.hpp"

namespace highwater::deepspeed {

struct HostBuffer {
  std::string_view what;
  std::int64_t bytes = 0;  ///< requested
  bool is_pinned = false;

  /// Bytes that the host allocates: for pinned memory, the next power of two.
  [[nodiscard]] std::int64_t taken() const;

  bool operator==(const HostBuffer&) const = default;
};

struct HostOffload {
  int ranks = 1;
  int rank = 0;
  DType dtype = DType::bf16;  ///< of parameters and gradients
  bool pin_memory = false;
  int grad_accum = 1;
  int states = 2;  ///< fp32 numbers per parameter that the optimizer keeps: Adam's two moments
};

/// What offload_optimizer keeps on the host in stages 1 and 2. `groups` are the parameter groups:
/// elements of each parameter in the order of the flat buffer.
std::vector<HostBuffer> offloaded_optimizer(std::span<const std::vector<std::int64_t>> groups,
                                            const HostOffload& offload);

}  // namespace highwater::deepspeed
