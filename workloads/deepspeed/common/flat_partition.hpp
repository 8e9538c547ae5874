// How ZeRO stages 1 and 2 cut one parameter group over the ranks: all parameters end to end,
// padded, in equal parts, regardless of where a parameter begins.
//
// Source: DeepSpeed 0.16.4, runtime/zero/stage_1_and_2.py (flatten_dense_tensors_aligned with
// nccl_start_alignment_factor 2, get_data_parallel_partitions, get_partition_info,
// initialize_gradient_partition). All numbers are elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace highwater::deepspeed {

/// The part of a parameter that one rank updates.
struct PartitionSlice {
  int rank = 0;
  std::int64_t offset = 0;  ///< from the parameter's first element
  std::int64_t numel = 0;

  bool operator==(const PartitionSlice&) const = default;
};

class FlatPartition {
 public:
  /// @pre ranks > 0, every number of elements is positive
  FlatPartition(std::span<const std::int64_t> numels, int ranks);

  /// All parameters and the padding after them: a multiple of 2 * ranks.
  [[nodiscard]] std::int64_t padded_numel() const { return partition_size_ * ranks_; }

  /// What one rank holds in fp32.
  [[nodiscard]] std::int64_t partition_size() const { return partition_size_; }

  /// Where parameter `index` begins in the flat buffer.
  [[nodiscard]] std::int64_t start(std::size_t index) const { return starts_[index]; }

  /// A parameter's parts by rank, from its first element to its last.
  [[nodiscard]] std::vector<PartitionSlice> slices(std::size_t index) const;

  /// The parameters of which `rank` updates a part, and that part.
  [[nodiscard]] std::vector<std::size_t> parameters_of(int rank) const;
  [[nodiscard]] PartitionSlice slice_of(std::size_t index, int rank) const;

 private:
  std::vector<std::int64_t> starts_;  ///< one more than parameters: the last is their sum
  std::int64_t partition_size_ = 0;
  int ranks_;
};

/// _round_robin_reorder: every ranks-th parameter beginning with the first, then with the second...
/// The result names parameters by their old places.
std::vector<std::size_t> round_robin_order(std::size_t parameters, int ranks);

}  // namespace highwater::deepspeed
