#include "workloads/distributed/broadcast_coalesced.hpp"

#include <array>
#include <deque>

#include "workloads/distributed/bucket_assignment.hpp"

namespace highwater::dist {

using eager::Tensor;

namespace {

constexpr std::size_t kMostInFlight = 2;

struct InFlight {
  Tensor flat;
  Work work;
};

// torch/csrc/utils/tensor_flatten.h: flatten_dense_tensors.
Tensor flatten(std::span<const Tensor> tensors) {
  std::vector<Tensor> flat;
  for (const Tensor& tensor : tensors) {
    flat.push_back(eager::view(eager::contiguous(eager::detach(tensor)), {tensor.numel()}));
  }
  if (flat.size() == 1) {
    return flat.front();
  }
  Tensor joined = eager::cat(flat, 0);
  joined.runtime().categorize_transient(joined, Category::communication);
  return joined;
}

}  // namespace

void broadcast_coalesced(ProcessGroup& group, std::span<const Tensor> tensors, std::int64_t bytes) {
  const eager::NoGrad no_grad(group.runtime());
  std::deque<InFlight> in_flight;
  const auto finish_oldest = [&] {  // and copies the tensors out of the block
    in_flight.front().work.wait();
    in_flight.pop_front();
  };
  const std::array limits{bytes};
  for (const auto& bucket : assign_buckets(tensors, limits)) {
    if (in_flight.size() >= kMostInFlight) {
      finish_oldest();
    }
    std::vector<Tensor> members;
    for (const std::size_t index : bucket) {
      members.push_back(tensors[index]);
    }
    const Tensor flat = flatten(members);
    in_flight.push_back({flat, group.broadcast(flat)});
  }
  while (!in_flight.empty()) {
    finish_oldest();
  }
}

}  // namespace highwater::dist
