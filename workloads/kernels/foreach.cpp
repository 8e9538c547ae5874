#include "workloads/kernels/foreach.hpp"

#include <algorithm>

namespace highwater {

namespace {

constexpr std::int64_t kChunk = 65'536;
constexpr Release kPacksPartialNorms{2, 15};

std::int64_t chunks_of(std::int64_t numel) {
  return (numel + kChunk - 1) / kChunk;
}

}  // namespace

ForeachNorm foreach_norm(std::span<const std::int64_t> numels, DType type, Release torch) {
  constexpr std::int64_t kFloatBytes = 4;
  constexpr std::int64_t kOffsetBytes = 8;
  const auto tensors = static_cast<std::int64_t>(numels.size());
  std::int64_t longest = 0;
  std::int64_t all = 0;
  for (const std::int64_t numel : numels) {
    longest = std::max(longest, chunks_of(numel));
    all += chunks_of(numel);
  }
  if (torch >= kPacksPartialNorms) {
    return {(tensors + 1) * kOffsetBytes, all * kFloatBytes, item_size(type)};
  }
  return {0, tensors * longest * kFloatBytes, item_size(type)};
}

int foreach_kernels(std::span<const std::int64_t> numels, int most_tensors) {
  constexpr std::int64_t kMostChunks = 320;
  int kernels = 0;
  int tensors = 0;
  std::int64_t waiting = 0;  // chunks of the kernel that is being filled
  for (const std::int64_t numel : numels) {
    std::int64_t left = chunks_of(numel);
    tensors += left > 0 ? 1 : 0;
    while (left > 0) {
      const std::int64_t taken = std::min(left, kMostChunks - waiting);
      left -= taken;
      waiting += taken;
      if (waiting == kMostChunks || (tensors == most_tensors && left == 0)) {
        ++kernels;
        waiting = 0;
        tensors = left > 0 ? 1 : 0;
      }
    }
  }
  return kernels + (waiting > 0 ? 1 : 0);
}

}  // namespace highwater
