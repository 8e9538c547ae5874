// DeepSpeed's "zero_optimization" section: its members, defaults and units.
//
// Source: DeepSpeed 0.16.4, runtime/zero/config.py (DeepSpeedZeroConfig). All numbers are elements,
// not bytes.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

namespace highwater {

/// "device" of offload_optimizer and offload_param.
enum class OffloadDevice : std::uint8_t { cpu, nvme };

struct Zero {
  // Stages 1 to 3.
  std::int64_t reduce_bucket_size = 500'000'000;
  std::optional<bool> overlap_comm;  ///< absent: only stage 3 (overlap_comm_valid)
  bool contiguous_gradients = true;
  bool reduce_scatter = true;
  std::optional<bool> pin_memory;  ///< of offload_optimizer and offload_param; absent: by release

  // Stages 1 and 2.
  bool round_robin_gradients = false;

  // Stage 3.
  std::int64_t sub_group_size = 1'000'000'000;
  std::int64_t prefetch_bucket_size = 50'000'000;
  std::int64_t param_persistence_threshold = 100'000;
  std::int64_t model_persistence_threshold = std::numeric_limits<std::int64_t>::max();
  std::int64_t max_live_parameters = 1'000'000'000;
  std::int64_t max_reuse_distance = 1'000'000'000;
  double offload_ratio = 1;  ///< of offload_optimizer: the part of the sub-groups on the host
  OffloadDevice optimizer_device = OffloadDevice::cpu;
  OffloadDevice param_device = OffloadDevice::cpu;
  std::int64_t optimizer_buffer_count = 4;       ///< NVMe: buffer_count of offload_optimizer
  std::int64_t param_buffer_count = 5;           ///< NVMe: buffer_count of offload_param
  std::int64_t param_buffer_size = 100'000'000;  ///< NVMe: its buffer_size
  std::int64_t max_in_cpu = 1'000'000'000;       ///< NVMe: parameters that stay in host memory
  int hpz_partition_size =
      1;              ///< ranks that share a second copy of the parameters (ZeRO++); 1: none
  bool init = false;  ///< the model is built inside deepspeed.zero.Init()

  /// The setting of a stage, 1 to 3.
  [[nodiscard]] bool overlaps(int stage) const { return overlap_comm.value_or(stage == 3); }

  bool operator==(const Zero&) const = default;
};

}  // namespace highwater
