// topkgating: a token's experts are the k with the greatest probabilities; with a capacity each
// expert keeps its most probable tokens (drop_policy "probs").
//
// Source: DeepSpeed 0.19.8, moe/sharded_moe.py.
#include <algorithm>

#include "workloads/deepspeed/moe/gate_parts.hpp"
#include "workloads/eager/node.hpp"

namespace highwater::deepspeed {

using eager::Runtime;
using eager::TensorList;

namespace {

// torch.zeros_like(gates, dtype=torch.bool).scatter_(...)
Tensor marks_like(const Tensor& gates) {
  return eager::empty_like(gates, DType::boolean);
}

// torch.zeros_like(gates).scatter(1, top_idx, top_gate): not in place, and no part of a loss
Tensor scattered(const eager::Selected& top, const Tensor& gates) {
  const auto node = eager::begin_node(gates.runtime(), "ScatterBackward0", {top.values});
  if (node) {
    node->save(top.indices);
  }
  const Tensor zeros = eager::empty_like(gates);
  Tensor result = eager::empty_like(zeros);
  eager::finish_node(node, result, [](eager::Node&, TensorList& grads) { return grads; });
  return result;
}

/// What a capacity makes, freed with the gate's frame.
struct Drops {
  Tensor masked_gates;
  eager::Selected kept;
  Tensor mask;
};

Drops drop(const eager::Selected& top, const Tensor& gates, std::int64_t slots) {
  Drops drops;
  drops.masked_gates = scattered(top, gates);
  drops.kept = eager::topk(drops.masked_gates, std::min(slots, gates.size(0)), 0);
  drops.mask = marks_like(gates);
  return drops;
}

// l_aux
Tensor auxiliary_loss(const Tensor& me, Tensor& ce, const Tensor& mask) {
  Tensor terms = balance(me, ce, mask);
  Tensor mean = eager::mean(terms, 0, eager::KeepDim::no);
  terms.reset();
  Tensor scaled = eager::mul(mean, 1.0);
  mean.reset();
  scaled = eager::mul(scaled, 1.0);
  return eager::div(scaled, 1.0);
}

// _stack_routes
Tensor stacked(const Tensor& routes, DType dtype) {
  return eager::to_dtype(eager::contiguous(eager::transpose(routes, 0, 1)), dtype);
}

Tensor kept_routes(const Tensor& kept, const Tensor& indices) {
  const Tensor absent = eager::empty_like(indices);
  return eager::pointwise("where", {kept, indices, absent}, DType::int64);
}

}  // namespace

Routes top_k_gating(const GateRun& run, const Tensor& logits) {
  Routes routes;
  routes.slots_of_expert = run.slots(logits.size(0));
  Tensor gates = eager::softmax(logits, 1, std::nullopt);
  eager::Selected top = eager::topk(gates, run.shape.top_k, 1);
  Tensor mask = marks_like(gates);
  routes.counts = eager::sum(mask, {0}, eager::KeepDim::no);
  Tensor me = eager::mean(gates, 0, eager::KeepDim::no);
  Tensor ce;
  routes.loss = auxiliary_loss(me, ce, mask);
  Drops drops;
  if (run.drops()) {
    drops = drop(top, gates, routes.slots_of_expert);
  } else {
    routes.capacity = largest_count(routes.counts, run.ranks);
  }
  Tensor locations = places(mask);
  Tensor masked = eager::mul(gates, mask);
  Tensor sums = eager::sum(masked, {-1}, eager::KeepDim::yes);
  Tensor denominator = clamped(sums);
  masked = eager::div(masked, denominator);
  Tensor kept = eager::gather(mask, 1, top.indices);
  Tensor indices = kept_routes(kept, top.indices);
  Tensor own;
  {
    const Tensor found = eager::gather(locations, 1, top.indices);
    own = eager::pointwise("mul", {found, kept}, DType::int64);
  }
  Tensor weights = eager::gather(masked, 1, top.indices);
  routes.experts = stacked(indices, DType::int32);
  routes.slots = stacked(own, DType::int32);
  routes.weights = stacked(weights, weights.dtype());
  eager::end_of_frame(gates, top.values, top.indices, mask, me, ce, locations);
  eager::end_of_frame(drops.masked_gates, drops.kept.values, drops.kept.indices, drops.mask);
  eager::end_of_frame(masked, sums, denominator, kept, indices, own, weights);
  return routes;
}

}  // namespace highwater::deepspeed
