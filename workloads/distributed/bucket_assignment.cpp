#include "workloads/distributed/bucket_assignment.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace highwater::dist {

namespace {

/// The bucket of one dtype that is being filled.
struct OpenBucket {
  std::vector<std::size_t> tensors;
  std::int64_t bytes = 0;
  std::size_t closed = 0;  ///< buckets of this dtype before it
};

}  // namespace

BucketAssignment assign_buckets(std::span<const eager::Tensor> tensors,
                                std::span<const std::int64_t> limits,
                                std::span<const std::size_t> order) {
  BucketAssignment assignment;
  std::map<DType, OpenBucket> open;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    OpenBucket& bucket = open[tensors[i].dtype()];
    bucket.tensors.push_back(order.empty() ? i : order[i]);
    bucket.bytes += tensors[i].numel() * item_size(tensors[i].dtype());
    if (bucket.bytes >= limits[std::min(bucket.closed, limits.size() - 1)]) {
      assignment.push_back(std::exchange(bucket.tensors, {}));
      bucket.bytes = 0;
      ++bucket.closed;
    }
  }
  for (auto& [dtype, bucket] : open) {
    if (!bucket.tensors.empty()) {
      assignment.push_back(std::move(bucket.tensors));
    }
  }
  if (order.empty()) {
    std::ranges::sort(assignment, {}, [](const auto& bucket) { return bucket.front(); });
  }
  return assignment;
}

}  // namespace highwater::dist
