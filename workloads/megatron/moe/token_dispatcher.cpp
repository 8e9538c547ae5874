#include "workloads/megatron/moe/token_dispatcher.hpp"

#include <utility>

#include "workloads/eager/node.hpp"
#include "workloads/megatron/layers/engine.hpp"
#include "workloads/megatron/transformer_engine/permutation.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::megatron {
namespace {

using eager::Node;
using eager::OpScope;

Tensor transposed(const Tensor& matrix) {
  return eager::contiguous(eager::t(matrix));
}

// nonzero() of the mask, whose columns index the operand.
Tensor selected(const Tensor& mask, std::int64_t found, DType dtype) {
  const OpScope op(mask.runtime(), "masked_select");
  const TensorList places = eager::where(mask, found);
  return eager::empty(mask.runtime(), {found}, dtype);
}

// Its gradient: zeros, into which masked_scatter_ writes by the prefix sums of the mask.
Tensor masked_select(const Tensor& self, const Tensor& mask, std::int64_t found) {
  const auto node = eager::begin_node(self.runtime(), "MaskedSelectBackward0", {self});
  Tensor result = selected(mask, found, self.dtype());
  eager::finish_node(node, result, [](Node& own, TensorList&) {
    const OpScope op(*own.runtime, "masked_select_backward");
    const Tensor like = own.unpack(1);
    Tensor gradient = eager::empty_like(like);
    const Tensor prefix_sums = eager::empty(*own.runtime, like.sizes(), DType::int64);
    return TensorList{std::move(gradient)};
  });
  if (node) {
    node->save(mask);
    node->save(self);
  }
  return result;
}

// zeros.scatter_add_(0, order.unsqueeze(1).expand(-1, h), rows)
Tensor scatter_add(const Dims& sizes, const Tensor& order, const Tensor& rows) {
  eager::Runtime& runtime = rows.runtime();
  const auto node = eager::begin_node(runtime, "ScatterAddBackward0", {rows});
  const OpScope op(runtime, "zeros");
  Tensor total = eager::empty(runtime, sizes, rows.dtype());
  eager::finish_node(node, total, [own_sizes = rows.sizes()](Node& own, TensorList& grads) {
    const OpScope gather(*own.runtime, "gather");
    return TensorList{eager::empty(*own.runtime, own_sizes, grads[0].dtype())};
  });
  if (node) {
    node->save(order);
  }
  return total;
}

}  // namespace

TokenDispatcher::TokenDispatcher(const nn::ModelContext& context, const LayerContext& shared)
    : config_(shared.config),
      tp_(shared.tp),
      experts_(shared.experts),
      expert_tp_(shared.expert_tp),
      is_fused_(uses_engine(context) && context.plan.parallel.megatron.moe_permute_fusion) {}

TokenDispatcher::Dispatched TokenDispatcher::preprocess(const Tensor& hidden_states,
                                                        const RoutingResult& routed) {
  hidden_shape_ = hidden_states.sizes();
  routed_.probs = routed.probs;
  routed_.routing_map = routed.routing_map;
  const Tensor tokens = eager::view(hidden_states, {-1, hidden_shape_.back()});
  counts_ = experts_.counts(
      {.tokens = tokens.size(0), .experts = config_.experts, .top_k = config_.top_k});
  if (is_padded()) {
    return is_fused_ ? permute_fused(tokens) : permute_padded(tokens);
  }
  {
    const eager::NoGrad no_grad(tokens.runtime());
    Tensor per_expert = eager::sum(routed_.routing_map, {0}, eager::KeepDim::no, DType::int64);
    if (experts_.size() > 1 || expert_tp_ > 1) {
      experts_.gather_counts(expert_tp_, config_.experts, std::move(per_expert));
    }
  }
  return is_fused_ ? permute_fused(tokens) : permute(tokens);
}

TokenDispatcher::Dispatched TokenDispatcher::permute_fused(const Tensor& tokens) {
  PermutedRows permuted = permute_by_map(tokens, routed_.probs, counts_.sent);
  order_ = std::move(permuted.map);
  return {std::move(permuted.rows), std::move(permuted.probs)};
}

TokenDispatcher::Dispatched TokenDispatcher::permute(const Tensor& tokens) {
  eager::Runtime& runtime = tokens.runtime();
  Tensor map = transposed(routed_.routing_map);
  Tensor token_indices = eager::arange(runtime, tokens.size(0));
  Tensor order = selected(map, counts_.sent, DType::int64);
  Tensor probs = masked_select(transposed(routed_.probs), map, counts_.sent);
  Tensor rows = eager::index_select(tokens, 0, order);
  eager::end_of_frame(map, token_indices);
  order_ = std::move(order);
  return {std::move(rows), std::move(probs)};
}

// With drop_and_pad: the first `capacity` of each expert's tokens, and zeros to fill up.
TokenDispatcher::Dispatched TokenDispatcher::permute_padded(const Tensor& tokens) {
  eager::Runtime& runtime = tokens.runtime();
  const std::int64_t experts = config_.experts;
  const std::int64_t capacity = counts_.sent / experts;
  Tensor map = eager::to_dtype(routed_.routing_map, DType::uint8);  // int8
  map = transposed(map);
  Tensor order;
  {
    const Tensor all = eager::argsort(map, -1);
    order = eager::contiguous(eager::slice(all, 1, 0, capacity));
  }
  order = eager::view(order, {-1});
  Tensor by_expert = eager::view(transposed(routed_.probs), {-1});
  Tensor first = eager::unsqueeze(eager::arange(runtime, experts), -1);
  Tensor places;
  {
    const Tensor start = eager::pointwise("mul", {first}, DType::int64);
    const Tensor chosen = eager::view(order, {experts, capacity});
    places = eager::pointwise("add", {start, chosen}, DType::int64);
  }
  places = eager::view(places, {-1});
  Tensor probs = eager::index_select(by_expert, 0, places);
  Tensor rows = eager::index_select(tokens, 0, order);
  eager::end_of_frame(map, by_expert, first, places);
  order_ = std::move(order);
  return {std::move(rows), std::move(probs)};
}

TokenDispatcher::Dispatched TokenDispatcher::dispatch(const Dispatched& rows) {
  const std::int64_t received = counts_.all_received();
  Tensor tokens = experts_.exchange(rows.tokens, received);
  Tensor probs = experts_.exchange(rows.probs, received);
  return {std::move(tokens), std::move(probs)};
}

TokenDispatcher::Dispatched TokenDispatcher::postprocess(Dispatched rows) {
  if (expert_tp_ > 1) {
    const Parts parts = is_padded() ? Parts::equal : Parts::listed;
    rows.tokens = gather_from_sequence(tp_, rows.tokens, parts);
    rows.probs = gather_from_sequence(tp_, rows.probs, parts);
  }
  if (counts_.received.size() == 1) {
    return rows;
  }
  if (is_fused_ && !is_padded()) {
    PermutedRows chunks = sort_chunks(rows.tokens, rows.probs);
    return {std::move(chunks.rows), std::move(chunks.probs)};
  }
  Tensor tokens = sorted(rows.tokens, RowOrder::by_expert);
  if (is_padded()) {  // one after the other; chunks are sorted by one function
    rows.tokens = std::move(tokens);
    rows.probs = sorted(rows.probs, RowOrder::by_expert);
  } else {
    Tensor probs = sorted(rows.probs, RowOrder::by_expert);
    rows = {std::move(tokens), std::move(probs)};
  }
  return rows;
}

Tensor TokenDispatcher::combine_preprocess(Tensor rows) {
  if (counts_.received.size() > 1) {
    rows = is_fused_ && !is_padded() ? sort_chunks(rows, {}).rows
                                     : sorted(rows, RowOrder::as_received);
  }
  if (expert_tp_ > 1) {
    Tensor chain = eager::to_dtype(rows, routed_.probs.dtype());
    chain = reduce_scatter_rows(tp_, chain, is_padded() ? Parts::equal : Parts::listed);
    chain = eager::to_dtype(chain, rows.dtype());
    std::swap(rows, chain);
  }
  return rows;
}

Tensor TokenDispatcher::combine(const Tensor& rows) {
  return experts_.exchange(rows, counts_.sent);
}

Tensor TokenDispatcher::combine_postprocess(const Tensor& rows) {
  const std::int64_t tokens = hidden_shape_[0] * hidden_shape_[1];
  if (is_fused_) {
    return eager::view(unpermute_by_map(rows, order_), hidden_shape_);
  }
  const Tensor total = scatter_add({tokens, hidden_shape_.back()}, order_, rows);
  return eager::view(total, hidden_shape_);
}

std::vector<std::int64_t> TokenDispatcher::rows_of_experts() const {
  std::vector<std::int64_t> rows = counts_.received;
  for (std::int64_t& each : rows) {
    each *= expert_tp_;
  }
  return rows;
}

// Padded: [ranks, local experts, capacity, ..] with the first two exchanged, or back.
Tensor TokenDispatcher::sorted(const Tensor& rows, RowOrder order) const {
  if (!is_padded()) {
    return sorted_chunks(rows);
  }
  const auto local = static_cast<std::int64_t>(counts_.received.size());
  const std::int64_t ranks = std::int64_t{expert_tp_} * experts_.size();
  Dims sizes{ranks, local, rows.size(0) / (local * ranks)};
  if (order == RowOrder::as_received) {
    std::swap(sizes[0], sizes[1]);
  }
  sizes.insert(sizes.end(), rows.sizes().begin() + 1, rows.sizes().end());
  const Tensor turned = eager::contiguous(eager::transpose(eager::view(rows, sizes), 0, 1));
  return eager::flatten(turned, 0, 2);
}

// sort_chunks_by_idxs: one chunk for each expert and rank, joined in another order.
Tensor TokenDispatcher::sorted_chunks(const Tensor& rows) const {
  const std::int64_t ranks = std::int64_t{expert_tp_} * experts_.size();
  std::vector<std::int64_t> lengths;
  for (const std::int64_t received : rows_of_experts()) {
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      lengths.push_back(received / ranks + (rank < received % ranks ? 1 : 0));
    }
  }
  const TensorList chunks = eager::split_rows(rows, lengths);
  return eager::cat({chunks.data(), chunks.size()}, 0);
}

}  // namespace highwater::megatron
