#include "workloads/megatron/data_parallel/apex_buckets.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace highwater::megatron {
namespace {

constexpr std::int64_t kShardAlignment = 32;  // 128 bytes of fp32

std::int64_t aligned(std::int64_t elements) {
  return (elements + kShardAlignment - 1) / kShardAlignment * kShardAlignment;
}

/// The number of buckets that a group fills if it begins with an empty one.
std::size_t buckets_of(const ApexGroup& group, std::int64_t bucket_elements) {
  std::size_t buckets = group.empty() ? 0 : 1;
  std::int64_t filled = 0;
  for (std::int64_t left : group) {
    while (left > 0) {
      const std::int64_t start = aligned(filled);
      const std::int64_t fragment = std::min(left, bucket_elements - start);
      if (fragment <= 0) {
        ++buckets;
        filled = 0;
      } else {
        filled = start + fragment;
        left -= fragment;
      }
    }
  }
  return buckets;
}

std::int64_t elements_of(std::span<const ApexGroup> groups) {
  std::int64_t elements = 0;
  for (const ApexGroup& group : groups) {
    elements += std::accumulate(group.begin(), group.end(), std::int64_t{0});
  }
  return elements;
}

BucketSize size_of(std::span<const ApexGroup> groups, double mb, std::int64_t ranks) {
  const ApexBuckets buckets = lay_out(groups, mb, ranks);
  const auto count = static_cast<std::int64_t>(buckets.count());
  return {mb, count, count * buckets.bucket_elements};
}

constexpr double kLittleEmpty = 0.05;

bool is_full(const BucketSize& size, std::int64_t filled) {
  return static_cast<double>(size.elements - filled) <=
         kLittleEmpty * static_cast<double>(size.elements);
}

}  // namespace

BucketUse bucket_use(std::span<const ApexGroup> groups, double bucket_cap_mb, std::int64_t ranks,
                     double bytes_per_element) {
  BucketUse use{.chosen = size_of(groups, bucket_cap_mb, ranks),
                .filled = elements_of(groups),
                .bytes_per_element = bytes_per_element,
                .right = std::nullopt};
  if (is_full(use.chosen, use.filled)) {
    return use;
  }
  for (double mb = std::ceil(bucket_cap_mb) - 1; mb >= 1; --mb) {
    if (const BucketSize size = size_of(groups, mb, ranks); is_full(size, use.filled)) {
      use.right = size;
      return use;
    }
  }
  return use;
}

ApexBuckets lay_out(std::span<const ApexGroup> groups, double bucket_cap_mb, std::int64_t ranks) {
  constexpr double kMiB = 1048576;
  constexpr double kGradientBytes = 4;
  const auto shard =
      static_cast<std::int64_t>(kMiB * bucket_cap_mb / kGradientBytes / static_cast<double>(ranks));
  ApexBuckets buckets;
  buckets.shard_elements = std::max(shard / kShardAlignment * kShardAlignment, kShardAlignment);
  buckets.bucket_elements = buckets.shard_elements * ranks;
  buckets.first_bucket.push_back(0);
  for (const ApexGroup& group : groups) {
    buckets.first_bucket.push_back(buckets.first_bucket.back() +
                                   buckets_of(group, buckets.bucket_elements));
  }
  return buckets;
}

}  // namespace highwater::megatron
