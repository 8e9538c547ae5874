#include "workloads/distributed/fsdp1/flat_param_layout.hpp"

#include <algorithm>

namespace highwater::dist {
namespace {

std::int64_t gap_before_multiple(std::int64_t length, std::int64_t step) {
  return (step - length % step) % step;
}

}  // namespace

FlatParamLayout lay_out(std::span<const std::int64_t> lengths, std::int64_t alignment, int ranks) {
  FlatParamLayout layout;
  const auto pad_to = [&](std::int64_t step) {
    if (const std::int64_t gap = gap_before_multiple(layout.length, step); gap > 0) {
      layout.parts.push_back(gap);
      layout.length += gap;
    }
  };
  for (const std::int64_t length : lengths) {
    if (alignment > 0) {
      pad_to(alignment);
    }
    layout.parameters.push_back({layout.length, length});
    layout.owned.push_back(layout.parts.size());
    layout.parts.push_back(length);
    layout.length += length;
  }
  if (alignment > 0) {
    pad_to(ranks);
  }
  return layout;
}

// torch.chunk: chunks of ceil(length / ranks), the last one shorter, perhaps fewer than asked for.
FlatShard shard_of(std::int64_t length, int rank, int ranks) {
  const std::int64_t whole = (length + ranks - 1) / ranks;
  const std::int64_t start = std::min(whole * rank, length);
  const std::int64_t own = std::min(whole, length - start);
  return {.extent = {start, own}, .padding = whole - own};
}

Extent part_in_shard(const Extent& parameter, std::int64_t start, std::int64_t length) {
  const std::int64_t first = std::max(parameter.offset, start);
  const std::int64_t end = std::min(parameter.offset + parameter.length, start + length);
  return first < end ? Extent{first - start, end - first} : Extent{};
}

}  // namespace highwater::dist
