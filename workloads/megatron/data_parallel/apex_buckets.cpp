#include "workloads/megatron/data_parallel/apex_buckets.hpp"

#include <algorithm>

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

}  // namespace

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
