// Which tensors share a bucket.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "workloads/eager/tensor.hpp"

namespace highwater::dist {

/// Indices into a list of tensors, bucket by bucket.
using BucketAssignment = std::vector<std::vector<std::size_t>>;

/// A limit that no bucket reaches.
inline constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

/// Fills buckets of one dtype each in the order of `tensors`. A bucket is closed once it holds
/// `limits[i]` bytes or more, so it may exceed them by one tensor; the first bucket of a dtype has
/// the first limit and so on, later ones the last.
///
/// `order` numbers the tensors (tensors[i] is number order[i]) and is kept; if it is empty, their
/// positions are the numbers, and buckets are sorted by the smallest. Source:
/// c10d::compute_bucket_assignment_by_size (torch/csrc/distributed/c10d/reducer.cpp).
BucketAssignment assign_buckets(std::span<const eager::Tensor> tensors,
                                std::span<const std::int64_t> limits,
                                std::span<const std::size_t> order = {});

}  // namespace highwater::dist
