#include "workloads/megatron/context/context_parallel.hpp"

#include "workloads/megatron/context/head_exchange.hpp"
#include "workloads/megatron/context/kv_ring.hpp"
#include "workloads/plan/parallelism.hpp"

namespace highwater::megatron {

using eager::Tensor;

ContextParallelGroup::ContextParallelGroup(eager::Runtime& runtime, const Parallelism& plan,
                                           Release release)
    : group_(runtime, plan.cp, plan.cp > 1 ? plan.backend : CommBackend::fake),
      rank_(rank_place(plan).cp),
      kind_(plan.cp_kind),
      keeps_result_of_heads_(release >= Release{2, 8}),
      main_stream_(runtime.stream) {
  side_stream_ = plan.cp > 1 ? runtime.make_stream() : main_stream_;
}

StreamId ContextParallelGroup::stream_of(int step) const {
  return step % 2 == 0 ? main_stream_ : side_stream_;
}

// [.., 2 cp, s / 2 cp, ..].index_select with an index tensor of two numbers.
Tensor ContextParallelGroup::own_part(const Tensor& whole, std::int64_t dim) const {
  if (size() == 1) {
    return whole;
  }
  eager::Runtime& runtime = whole.runtime();
  const Tensor index = eager::empty(runtime, {2}, DType::int64);
  eager::Dims sizes = whole.sizes();
  sizes[eager::wrap(dim, sizes.size())] /= size();
  const eager::OpScope op(runtime, "index_select");
  return eager::empty(runtime, sizes, whole.dtype());
}

// FlashAttention.forward: contiguous [b, s, heads, d] operands, and the result back to [s, b, ..].
Tensor ContextParallelGroup::attend(const Tensor& query, const Tensor& key, const Tensor& value,
                                    double dropout) {
  const auto batch_first = [](const Tensor& states) { return eager::transpose(states, 0, 1); };
  const Tensor q_view = batch_first(query);
  const Tensor k_view = batch_first(key);
  const Tensor v_view = batch_first(value);
  Tensor q = eager::contiguous(q_view);
  Tensor k = eager::contiguous(k_view);
  Tensor v = eager::contiguous(v_view);
  const FlashOperands in{.query = q, .key = k, .value = v, .dropout = dropout};
  Tensor out =
      kind_ == ContextParallel::ring ? ring_attention(*this, in) : exchange_attention(*this, in);
  out = eager::view(out, {query.size(1), query.size(0), -1});
  return eager::contiguous(eager::transpose(out, 0, 1));
}

}  // namespace highwater::megatron
