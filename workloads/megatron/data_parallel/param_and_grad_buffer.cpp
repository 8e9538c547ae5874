#include "workloads/megatron/data_parallel/param_and_grad_buffer.hpp"

#include <algorithm>
#include <numeric>

#include "workloads/megatron/data_parallel/layer_wise_layout.hpp"

namespace highwater::megatron {
namespace {

std::int64_t padded(std::int64_t number, std::int64_t divisor) {
  return (number + divisor - 1) / divisor * divisor;
}

// _pad_end_of_bucket_if_needed.
std::int64_t bucket_end(std::int64_t end, const BufferRules& rules) {
  constexpr std::int64_t kAlignment = 128;
  return rules.is_distributed ? padded(end, std::lcm(rules.ranks, kAlignment)) : end;
}

// _pad_start_of_param_if_needed.
std::int64_t param_start(std::int64_t start, const BufferRules& rules) {
  constexpr std::int64_t kAlignment = 64;
  return rules.is_distributed ? padded(start, kAlignment) : start;
}

}  // namespace

BufferLayout layout_buffer(std::span<const std::int64_t> sizes, const BufferRules& rules) {
  if (rules.is_distributed && rules.shards == Shards::parameters) {
    return layer_wise_layout(sizes, rules);
  }
  BufferLayout layout{.params = std::vector<Range>(sizes.size()),
                      .bucket = std::vector<std::size_t>(sizes.size()),
                      .buckets = {},
                      .elements = 0};
  std::int64_t bucket_start = 0;
  std::int64_t at = 0;
  const auto close_bucket = [&] {
    at = bucket_end(at, rules);
    layout.buckets.push_back({bucket_start, at});
    bucket_start = at;
  };
  for (std::size_t i = sizes.size(); i-- > 0;) {
    const bool is_alone = rules.is_distributed && rules.shared_embedding == i;
    if (is_alone && at > bucket_start) {
      close_bucket();
    }
    const std::int64_t start = param_start(at, rules);
    at = start + sizes[i];
    layout.params[i] = {start, at};
    layout.bucket[i] = layout.buckets.size();
    if (is_alone || (rules.bucket_size && at - bucket_start >= *rules.bucket_size)) {
      close_bucket();
    }
  }
  if (at > bucket_start) {
    close_bucket();
  }
  layout.elements = at;
  return layout;
}

Range shard_of(const Range& bucket, const GroupPlace& place) {
  const std::int64_t size = bucket.size() / place.ranks;
  const std::int64_t start = bucket.start + place.rank * size;
  return {start, start + size};
}

std::optional<Range> owned_part(const BufferLayout& layout, std::size_t param,
                                const GroupPlace& place) {
  const Range& whole = layout.params[param];
  const Range shard = shard_of(layout.buckets[layout.bucket[param]], place);
  const Range part{std::max(whole.start, shard.start), std::min(whole.end, shard.end)};
  return part.size() > 0 ? std::optional(part) : std::nullopt;
}

std::optional<std::int64_t> bucket_size(const Parallelism& plan) {
  constexpr std::int64_t kLeast = 40'000'000;
  constexpr std::int64_t kPerRank = 1'000'000;
  const Megatron& options = plan.megatron;
  if (!options.overlap_grad_reduce || rank_place(plan).pp > 0) {
    return std::nullopt;
  }
  return options.bucket_size.value_or(std::max(kLeast, kPerRank * data_group(plan).ranks));
}

}  // namespace highwater::megatron
