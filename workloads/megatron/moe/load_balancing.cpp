#include "workloads/megatron/moe/load_balancing.hpp"

#include <utility>

#include "workloads/eager/node.hpp"
#include "workloads/megatron/moe/router_scores.hpp"

namespace highwater::megatron {

using eager::Node;
using eager::Tensor;
using eager::TensorList;

namespace {

struct ScoresForLoss {
  Tensor routing_map;
  Tensor scores;
};

ScoresForLoss scores_for_loss(const Tensor& logits, const BalancedTokens& tokens) {
  ScoresForLoss result;
  if (tokens.is_sigmoid) {
    const Tensor scores = eager::sigmoid(logits);
    const Tensor total = eager::add(eager::sum(scores, {-1}, eager::KeepDim::yes), 1e-20);
    result.scores = eager::div(scores, total);
  } else {
    result.scores = eager::softmax(logits, -1, DType::fp32);
  }
  eager::Selected best = eager::topk(result.scores, tokens.top_k, 1);
  result.routing_map = mask_of(logits, DType::int32);
  eager::end_of_frame(best.values, best.indices);
  return result;
}

// switch_load_balancing_loss_func; of each sequence, divided by their number.
Tensor loss_of(const Tensor& scores, const Tensor& tokens_per_expert) {
  const Tensor per_expert = eager::sum(scores, {0}, eager::KeepDim::no);
  const Tensor products = eager::mul(per_expert, tokens_per_expert);
  return eager::mul(eager::sum(products, {}, eager::KeepDim::no), 1.0);
}

// MoEAuxLossAutoScaler: the probabilities as they are; backward gives the loss its own gradient.
Tensor attached(const Tensor& probs, const Tensor& loss) {
  const auto node =
      eager::begin_node(probs.runtime(), "MoEAuxLossAutoScalerBackward", {probs, loss});
  Tensor result = eager::view(probs, probs.sizes());
  eager::finish_node(node, result, [](Node& own, TensorList& grads) {
    const Tensor of_loss = own.unpack(0);
    const Tensor ones = eager::empty_like(of_loss);
    return TensorList{grads[0], eager::mul(ones, 1.0)};
  });
  if (node) {
    node->save(loss);
  }
  return result;
}

}  // namespace

Tensor with_balancing_loss(const Tensor& probs, const Tensor& logits,
                           const BalancedTokens& tokens) {
  ScoresForLoss found = scores_for_loss(logits, tokens);
  const std::int64_t length = logits.size(0) / tokens.sequences;
  found.scores = eager::view(found.scores, {length, -1});
  found.routing_map = eager::view(found.routing_map, {length, -1});
  Tensor per_expert = eager::sum(found.routing_map, {0}, eager::KeepDim::no, DType::int64);
  Tensor loss = loss_of(found.scores, per_expert);
  if (tokens.sequences > 1) {
    loss = eager::div(loss, 1.0);
  }
  Tensor result = attached(probs, loss);
  eager::end_of_frame(per_expert, loss, found.routing_map, found.scores);
  return result;
}

}  // namespace highwater::megatron
