#include "workloads/deepspeed/host_memory.hpp"

#include <algorithm>

#include "workloads/deepspeed/common/flat_partition.hpp"
#include "workloads/eager/host_memory.hpp"

namespace highwater::deepspeed {
namespace {

constexpr std::int64_t kFp32 = 4;

void add_group(std::span<const std::int64_t> numels, const HostOffload& offload,
               std::vector<HostBuffer>& buffers) {
  const FlatPartition partition(numels, offload.ranks);
  const std::int64_t flat = partition.partition_size() * kFp32;
  const bool pins = offload.pin_memory;
  buffers.push_back({"fp32 parameters", flat, true});
  buffers.push_back({"fp32 gradients", flat, pins});
  for (int state = 0; state < offload.states; ++state) {
    buffers.push_back({"optimizer state", flat, false});
  }
  if (offload.grad_accum > 1) {
    for (const std::size_t index : partition.parameters_of(offload.rank)) {
      buffers.push_back({"accumulated gradient", numels[index] * item_size(offload.dtype), pins});
    }
  }
}

}  // namespace

std::int64_t HostBuffer::taken() const {
  return is_pinned ? pinned_size(bytes) : bytes;
}

std::vector<HostBuffer> offloaded_optimizer(std::span<const std::vector<std::int64_t>> groups,
                                            const HostOffload& offload) {
  std::vector<HostBuffer> buffers;
  std::int64_t largest = 0;
  for (const auto& numels : groups) {
    add_group(numels, offload, buffers);
    largest = std::max(largest, *std::ranges::max_element(numels));
  }
  buffers.push_back({"largest gradient", largest * item_size(offload.dtype), offload.pin_memory});
  return buffers;
}

}  // namespace highwater::deepspeed
