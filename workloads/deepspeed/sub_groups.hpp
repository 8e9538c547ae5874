// Sub-groups of ZeRO-3's parameters, which are updated together, and the flat buffers in which this
// rank's partitions of them lie.
//
// Source: DeepSpeed 0.16.4 and 0.19.8, runtime/zero/stage3.py: _create_fp16_sub_groups, defragment,
// _create_param_groups_fp16_flat_cpu_memory, _move_to_flat_buffer.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "workloads/deepspeed/partitioned_parameter.hpp"
#include "workloads/plan/deepspeed_release.hpp"

namespace highwater::deepspeed {

/// A group of parameters in the optimizer, or a part of one.
using ParameterGroup = std::vector<PartitionedParameter*>;

struct SubGroup {
  ParameterGroup parameters;
  std::size_t group = 0;                    ///< the optimizer's group of parameters
  std::int64_t numel = 0;                   ///< of this rank's partitions
  eager::Tensor flat;                       ///< fp16_partitioned_groups_flat; none on NVMe
  eager::Tensor master;                     ///< fp32_partitioned_groups_flat
  eager::Place place = eager::Place::cuda;  ///< of the master (subgroup_to_device)
  bool is_on_nvme = false;                  ///< the master and its states
};

/// A sub-group is full once its partitions reach `most` elements (sub_group_size).
std::vector<SubGroup> make_sub_groups(const std::vector<ParameterGroup>& groups, std::int64_t most);

/// offload_optimizer with a "ratio": 0.16.4 has the first sub-groups on the host, 0.19.8 the last.
void offload_part(std::vector<SubGroup>& sub_groups, double ratio, DeepspeedRelease release);

/// All partitions move to the host and return in one block of the GPU, which is returned.
eager::Tensor defragment(std::vector<SubGroup>& sub_groups, eager::Runtime& runtime, DType dtype);

/// The partitions lie in one pinned buffer for each group, whatever pin_memory says; on NVMe those
/// of sub-groups beyond `most` elements.
void move_to_host_buffers(std::vector<SubGroup>& sub_groups, eager::Runtime& runtime, DType dtype,
                          std::optional<std::int64_t> most);

}  // namespace highwater::deepspeed
