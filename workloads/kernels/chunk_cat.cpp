#include "workloads/kernels/chunk_cat.hpp"

#include <algorithm>
#include <cmath>

#include "workloads/kernels/division.hpp"

namespace highwater {

namespace {

constexpr std::int64_t kBlockThreads = 128;
constexpr std::int64_t kBytesPerBlock = kBlockThreads * 16;
constexpr std::int64_t kEntry = 8;  // int64

std::int64_t blocks_for(std::span<const std::int64_t> bytes, std::int64_t per_block) {
  std::int64_t blocks = 0;
  for (const std::int64_t part : bytes) {
    blocks += divide_up(part, per_block);
  }
  return blocks;
}

}  // namespace

// Each thread takes more bytes as soon as two rounds of the device are not enough.
std::int64_t split_copy_tables(const Gpu& gpu, std::int64_t rows,
                               std::span<const std::int64_t> part_bytes) {
  const std::int64_t most_blocks =
      std::int64_t{gpu.multiprocessors} * gpu.max_threads_per_multiprocessor / kBlockThreads * 2;
  const std::int64_t factor = divide_up(blocks_for(part_bytes, kBytesPerBlock) * rows, most_blocks);
  const auto root = static_cast<std::int64_t>(std::ceil(std::sqrt(static_cast<double>(factor))));
  const std::int64_t rows_per_block = std::min(root, rows);
  const std::int64_t rounds = divide_up(factor, std::max<std::int64_t>(rows_per_block, 1));
  const auto parts = static_cast<std::int64_t>(part_bytes.size());
  return (3 * parts + blocks_for(part_bytes, kBytesPerBlock * rounds) + parts + 1) * kEntry;
}

std::int64_t chunk_cat_tables(std::span<const std::int64_t> chunk_bytes) {
  const auto tensors = static_cast<std::int64_t>(chunk_bytes.size());
  return (4 * tensors + blocks_for(chunk_bytes, kBytesPerBlock) + 2 * (tensors + 1)) * kEntry;
}

}  // namespace highwater
