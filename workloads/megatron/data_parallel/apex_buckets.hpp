// The fixed-size buckets of NVIDIA Apex's DistributedFusedAdam.
//
// Source: apex/contrib/optimizers/distributed_fused_adam.py (2023: __init__, init_params_bucket,
// _init_param_state). A bucket always has its full size, however little of it is filled, and a
// group of parameters never continues a bucket that an earlier group began.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "workloads/strategy/bucket_use.hpp"

namespace highwater::megatron {

struct ApexBuckets {
  std::int64_t bucket_elements = 0;
  std::int64_t shard_elements = 0;        ///< of one rank: bucket_elements / ranks
  std::vector<std::size_t> first_bucket;  ///< of each group, followed by the number of buckets

  [[nodiscard]] std::size_t count() const { return first_bucket.back(); }
};

/// Elements of parameters that share buckets, in the order in which they are placed.
using ApexGroup = std::vector<std::int64_t>;

/// Buckets of `bucket_cap_mb` MiB of fp32 gradients, rounded down to whole shards of a multiple of
/// 32 elements; each parameter begins at a multiple of 32 and may continue in the next bucket.
ApexBuckets lay_out(std::span<const ApexGroup> groups, double bucket_cap_mb, std::int64_t ranks);

/// How full these buckets are, and which smaller size would be fuller.
BucketUse bucket_use(std::span<const ApexGroup> groups, double bucket_cap_mb, std::int64_t ranks,
                     double bytes_per_element);

}  // namespace highwater::megatron
