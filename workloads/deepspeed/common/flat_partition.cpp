#include "workloads/deepspeed/common/flat_partition.hpp"

#include <algorithm>

namespace highwater::deepspeed {
namespace {

constexpr std::int64_t kAlignmentFactor = 2;  // nccl_start_alignment_factor

}  // namespace

FlatPartition::FlatPartition(std::span<const std::int64_t> numels, int ranks)
    : starts_{0}, ranks_(ranks) {
  for (const std::int64_t numel : numels) {
    starts_.push_back(starts_.back() + numel);
  }
  const std::int64_t alignment = kAlignmentFactor * ranks;
  partition_size_ = (starts_.back() + alignment - 1) / alignment * kAlignmentFactor;
}

std::vector<PartitionSlice> FlatPartition::slices(std::size_t index) const {
  std::vector<PartitionSlice> result;
  const std::int64_t first = starts_[index] / partition_size_;
  const std::int64_t last = (starts_[index + 1] - 1) / partition_size_;
  for (std::int64_t rank = first; rank <= last; ++rank) {
    result.push_back(slice_of(index, static_cast<int>(rank)));
  }
  return result;
}

PartitionSlice FlatPartition::slice_of(std::size_t index, int rank) const {
  const std::int64_t begin = std::max(starts_[index], rank * partition_size_);
  const std::int64_t end = std::min(starts_[index + 1], (rank + 1) * partition_size_);
  return {rank, begin - starts_[index], std::max<std::int64_t>(end - begin, 0)};
}

std::vector<std::size_t> FlatPartition::parameters_of(int rank) const {
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i + 1 < starts_.size(); ++i) {
    if (slice_of(i, rank).numel > 0) {
      result.push_back(i);
    }
  }
  return result;
}

std::vector<std::size_t> round_robin_order(std::size_t parameters, int ranks) {
  std::vector<std::size_t> order;
  const auto step = static_cast<std::size_t>(ranks);
  for (std::size_t first = 0; first < std::min(step, parameters); ++first) {
    for (std::size_t i = first; i < parameters; i += step) {
      order.push_back(i);
    }
  }
  return order;
}

}  // namespace highwater::deepspeed
