#include "workloads/distributed/ddp/zero_redundancy.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>
#include <utility>

#include "workloads/eager/ops.hpp"
#include "workloads/eager/runtime.hpp"

namespace highwater::dist {

using eager::Tensor;

namespace {

std::vector<Tensor> tensors_of(const ParameterGroups& groups) {
  std::vector<Tensor> tensors;
  for (const auto& group : groups) {
    tensors.insert(tensors.end(), group.begin(), group.end());
  }
  return tensors;
}

std::int64_t elements_of(const std::vector<Tensor>& tensors) {
  std::int64_t elements = 0;
  for (const Tensor& tensor : tensors) {
    elements += tensor.numel();
  }
  return elements;
}

// param.data = bucket[offset:offset_next].view_as(param.data)
void set_data(const Tensor& parameter, const Tensor& bucket, std::int64_t offset) {
  parameter->storage = bucket->storage;
  parameter->offset = offset;
  parameter->strides = eager::contiguous_strides(parameter.sizes());
}

// torch.empty(bucket_size, dtype=dtype), or a dummy of one number.
Tensor bucket_of(const std::vector<Tensor>& parameters, eager::Runtime& runtime) {
  const bool is_empty = parameters.empty();
  eager::OpScope op(runtime, is_empty ? "zeros" : "empty");
  Tensor bucket = eager::empty(runtime, {is_empty ? 1 : elements_of(parameters)},
                               is_empty ? DType::fp32 : parameters.front().dtype());
  runtime.categorize(bucket, Category::parameter);
  std::int64_t offset = 0;
  for (const Tensor& parameter : parameters) {
    set_data(parameter, bucket, offset);
    offset += parameter.numel();
  }
  return bucket;
}

std::vector<ParameterGroups> divided(const ParameterGroups& groups, int ranks) {
  std::vector<std::vector<std::int64_t>> elements;
  for (const auto& group : groups) {
    std::ranges::transform(group, std::back_inserter(elements.emplace_back()), &Tensor::numel);
  }
  std::vector<ParameterGroups> parts;
  for (const auto& part : parts_of_ranks(elements, ranks)) {
    ParameterGroups& own = parts.emplace_back(groups.size());
    for (std::size_t i = 0; i < groups.size(); ++i) {
      std::ranges::transform(part[i], std::back_inserter(own[i]),
                             [&](std::size_t j) { return groups[i][j]; });
    }
  }
  return parts;
}

}  // namespace

std::vector<std::vector<std::vector<std::size_t>>> parts_of_ranks(
    const std::vector<std::vector<std::int64_t>>& groups, int ranks) {
  const auto count = static_cast<std::size_t>(ranks);
  std::vector parts(count, std::vector<std::vector<std::size_t>>(groups.size()));
  std::vector<std::int64_t> held(count);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    std::vector<std::size_t> sorted(groups[i].size());
    std::iota(sorted.begin(), sorted.end(), std::size_t{0});
    std::ranges::stable_sort(sorted, std::greater{}, [&](std::size_t j) { return groups[i][j]; });
    for (const std::size_t j : sorted) {
      const auto least = static_cast<std::size_t>(std::ranges::min_element(held) - held.begin());
      held[least] += groups[i][j];
      parts[least][i].push_back(j);
    }
  }
  return parts;
}

ZeroRedundancy::ZeroRedundancy(ParameterGroups groups, GroupPlace place, ZeroRedundancyKind kind)
    : groups_(std::move(groups)),
      parts_(divided(groups_, place.ranks)),
      rank_(place.rank),
      kind_(kind) {
  for (const ParameterGroups& part : parts_) {
    const std::vector<Tensor> parameters = tensors_of(part);
    sent_.insert(sent_.end(), parameters.begin(), parameters.end());
  }
}

// A parameter's old block is freed as soon as its values are in the bucket.
void ZeroRedundancy::move_to_buckets() {
  if (kind_ != ZeroRedundancyKind::buckets || sent_.empty()) {
    return;
  }
  eager::Runtime& runtime = sent_.front().runtime();
  sent_.clear();
  for (const ParameterGroups& part : parts_) {
    sent_.push_back(bucket_of(tensors_of(part), runtime));
  }
}

void ZeroRedundancy::free_gradients() {
  for (const auto& group : groups_) {
    for (const Tensor& parameter : group) {
      parameter->grad.reset();
    }
  }
}

}  // namespace highwater::dist
