#include "workloads/megatron/data_parallel/layer_wise_layout.hpp"

#include <algorithm>
#include <numeric>

namespace highwater::megatron {
namespace {

constexpr std::int64_t kStartAlignment = 64;  // pad_param_start

std::int64_t rounded_up(std::int64_t number, std::int64_t divisor) {
  return (number + divisor - 1) / divisor * divisor;
}

// _shard_divisor
std::int64_t shard_divisor(std::int64_t ranks) {
  constexpr std::int64_t kBucketAlignment = 128;
  return std::lcm(kStartAlignment, std::lcm(ranks, kBucketAlignment) / ranks);
}

/// Parameters of one bucket, from the last to the first.
using Chunk = std::vector<std::size_t>;

/// Which rank's part each parameter of a chunk is in, and where it begins there.
struct Packing {
  struct Place {
    std::size_t param;
    std::size_t rank;
    std::int64_t start;
  };

  std::vector<Place> places;
  std::vector<std::int64_t> ends;  ///< of each rank's part
};

Packing packed(Chunk chunk, std::span<const std::int64_t> sizes, std::int64_t ranks) {
  std::ranges::stable_sort(chunk, std::greater<>(), [&](std::size_t i) { return sizes[i]; });
  Packing packing{.places = {}, .ends = std::vector<std::int64_t>(static_cast<std::size_t>(ranks))};
  for (const std::size_t i : chunk) {
    const auto least = std::ranges::min_element(packing.ends);
    const std::int64_t start = rounded_up(*least, kStartAlignment);
    packing.places.push_back({i, static_cast<std::size_t>(least - packing.ends.begin()), start});
    *least = start + sizes[i];
  }
  return packing;
}

void add_bucket(const Packing& packing, std::span<const std::int64_t> sizes, BufferLayout& layout) {
  const auto ranks = static_cast<std::int64_t>(packing.ends.size());
  const std::int64_t each = rounded_up(std::ranges::max(packing.ends), shard_divisor(ranks));
  for (const auto& place : packing.places) {
    const std::int64_t start =
        layout.elements + static_cast<std::int64_t>(place.rank) * each + place.start;
    layout.params[place.param] = {start, start + sizes[place.param]};
    layout.bucket[place.param] = layout.buckets.size();
  }
  layout.buckets.push_back({layout.elements, layout.elements + ranks * each});
  layout.elements += ranks * each;
}

/// Whether a chunk is a bucket: where one parameter is most of it, more are put beside it.
bool is_full(const Chunk& chunk, std::span<const std::int64_t> sizes, const BufferRules& rules) {
  constexpr double kFloor = 0.9;  // PADDING_FLOOR
  std::int64_t all = 0;
  std::int64_t largest = 0;
  for (const std::size_t i : chunk) {
    all += sizes[i];
    largest = std::max(largest, sizes[i]);
  }
  const auto least = static_cast<std::int64_t>(static_cast<double>(rules.ranks * largest) * kFloor);
  return rules.bucket_size && all >= std::max(*rules.bucket_size, least);
}

}  // namespace

BufferLayout layer_wise_layout(std::span<const std::int64_t> sizes, const BufferRules& rules) {
  BufferLayout layout{.params = std::vector<Range>(sizes.size()),
                      .bucket = std::vector<std::size_t>(sizes.size()),
                      .buckets = {},
                      .elements = 0};
  Chunk chunk;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    chunk.push_back(i);
    if (i == 0 || is_full(chunk, sizes, rules)) {
      add_bucket(packed(std::exchange(chunk, {}), sizes, rules.ranks), sizes, layout);
    }
  }
  return layout;
}

}  // namespace highwater::megatron
