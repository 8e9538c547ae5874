#include "workloads/kernels/foreach.hpp"

#include <algorithm>

namespace highwater {

ForeachNorm foreach_norm(std::span<const std::int64_t> numels, DType type) {
  constexpr std::int64_t kChunk = 65536;
  constexpr std::int64_t kFloat = 4;
  std::int64_t longest = 0;
  for (const std::int64_t numel : numels) {
    longest = std::max(longest, (numel + kChunk - 1) / kChunk);
  }
  return {static_cast<std::int64_t>(numels.size()) * longest * kFloat, item_size(type)};
}

}  // namespace highwater
