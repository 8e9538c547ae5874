#include "workloads/dist/deepspeed/host_memory.hpp"

#include <algorithm>
#include <bit>

#include "workloads/dist/deepspeed/flat_partition.hpp"

namespace highwater::deepspeed {

std::int64_t HostBuffer::taken() const {
  return is_pinned ? static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(bytes)))
                   : bytes;
}

std::vector<HostBuffer> offloaded_optimizer(std::span<const std::int64_t> numels,
                                            const HostOffload& offload) {
  constexpr std::int64_t kFp32 = 4;
  const FlatPartition partition(numels, offload.ranks);
  const std::int64_t flat = partition.partition_size() * kFp32;
  const std::int64_t item = item_size(offload.dtype);
  const bool pins = offload.pin_memory;
  std::vector<HostBuffer> buffers{{"fp32 parameters", flat, true}, {"fp32 gradients", flat, pins}};
  for (int state = 0; state < offload.states; ++state) {
    buffers.push_back({"optimizer state", flat, false});
  }
  buffers.push_back({"largest gradient", *std::ranges::max_element(numels) * item, pins});
  if (offload.grad_accum > 1) {
    for (const std::size_t index : partition.parameters_of(offload.rank)) {
      buffers.push_back({"accumulated gradient", numels[index] * item, pins});
    }
  }
  return buffers;
}

}  // namespace highwater::deepspeed
