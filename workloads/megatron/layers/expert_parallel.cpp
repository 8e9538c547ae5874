#include "workloads/megatron/layers/expert_parallel.hpp"

#include <cmath>
#include <numeric>
#include <utility>

#include "workloads/eager/node.hpp"
#include "workloads/plan/parallelism.hpp"

namespace highwater::megatron {
namespace {

using eager::Dims;
using eager::Tensor;
using eager::TensorList;

}  // namespace

std::int64_t TokenCounts::all_received() const {
  return std::accumulate(received.begin(), received.end(), std::int64_t{0});
}

TokenCounts dropless_counts(const Routing& routing, const GroupPlace& group, const MoeLoad& load) {
  const std::vector<std::int64_t> chosen = expert_counts(load, routing, group.ranks);
  const std::int64_t local = routing.experts / group.ranks;
  TokenCounts counts{.sent = routing.tokens * routing.top_k, .received = {}};
  for (std::int64_t expert = group.rank * local; expert < (group.rank + 1) * local; ++expert) {
    counts.received.push_back(group.ranks * chosen[static_cast<std::size_t>(expert)]);
  }
  return counts;
}

TokenCounts padded_counts(const Routing& routing, const GroupPlace& group, std::int64_t capacity) {
  const auto local = static_cast<std::size_t>(routing.experts / group.ranks);
  return {.sent = capacity * routing.experts,
          .received = std::vector<std::int64_t>(local, capacity * group.ranks)};
}

std::int64_t expert_capacity(const Routing& routing, double factor) {
  const auto even =
      static_cast<double>(routing.tokens * routing.top_k) / static_cast<double>(routing.experts);
  return static_cast<std::int64_t>(std::ceil(even * factor));
}

ExpertParallel::ExpertParallel(eager::Runtime& runtime, const Parallelism& plan, MoeLoad load)
    : group_(runtime, plan.ep, plan.ep > 1 ? plan.backend : CommBackend::fake),
      place_(expert_group(plan)),
      capacity_factor_(plan.megatron.moe_capacity_factor),
      load_(std::move(load)) {}

TokenCounts ExpertParallel::counts(const Routing& routing) const {
  if (capacity_factor_) {
    return padded_counts(routing, place_, expert_capacity(routing, *capacity_factor_));
  }
  return dropless_counts(routing, place_, load_);
}

Tensor ExpertParallel::exchange_block(const Tensor& input, std::int64_t rows) {
  Dims sizes = input.sizes();
  sizes.front() = rows;
  Tensor output = eager::empty(input.runtime(), sizes, input.dtype());
  group_.all_to_all_single(output, eager::contiguous(input)).wait();
  return output;
}

Tensor ExpertParallel::exchange(const Tensor& input, std::int64_t rows) {
  if (size() == 1) {
    return input;
  }
  eager::Runtime& runtime = input.runtime();
  const auto node = eager::begin_node(runtime, "_AllToAllBackward", {input});
  Tensor output;
  {
    const eager::NoGrad no_grad(runtime);
    output = exchange_block(input, rows);
  }
  const std::int64_t own_rows = input.size(0);
  eager::finish_node(node, output, [this, own_rows](eager::Node&, TensorList& grads) {
    return TensorList{exchange_block(grads[0], own_rows)};
  });
  return output;
}

// MoEAlltoAllTokenDispatcher.preprocess: sums over the local experts, all ranks' counts side by
// side, and what of them goes to this rank's experts. Variables are freed first, then what the host
// has copied.
void ExpertParallel::gather_counts(int tensor_ranks, std::int64_t experts, Tensor per_expert) {
  eager::Runtime& runtime = group_.runtime();
  const eager::NoGrad no_grad(runtime);
  const std::int64_t ranks = std::int64_t{tensor_ranks} * size();
  const std::int64_t local = experts / size();
  const auto numbers = [&](std::int64_t count) {
    const eager::OpScope op(runtime, "tokens_per_expert");
    return eager::empty(runtime, {count}, DType::int64);
  };
  Tensor input_splits = numbers(size());
  Tensor all = numbers(ranks * experts);
  Tensor per_local_expert = numbers(ranks * local);
  Tensor per_rank = numbers(ranks);
  Tensor output_splits_tp = numbers(tensor_ranks);
  Tensor result = numbers(local);
  eager::end_of_frame(per_expert, all);
  runtime.synchronize();
  eager::end_of_frame(input_splits, per_rank, output_splits_tp, per_local_expert, result);
}

}  // namespace highwater::megatron
