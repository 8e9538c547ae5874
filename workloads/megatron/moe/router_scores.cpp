#include "workloads/megatron/moe/router_scores.hpp"

#include <utility>

#include "workloads/eager/node.hpp"

namespace highwater::megatron {

using eager::Node;
using eager::Selected;
using eager::Tensor;
using eager::TensorList;

namespace {

// group_limited_topk: the best groups by the sum of their best experts, then the best experts of
// these.
Selected best_of_groups(const Tensor& scores, const Config& config) {
  const std::int64_t tokens = scores.size(0);
  const std::int64_t groups = config.router.groups;
  Tensor group_scores;
  {
    const Tensor by_group = eager::view(scores, {tokens, groups, -1});
    const Tensor best =
        eager::topk(by_group, config.top_k / config.router.chosen_groups, -1).values;
    group_scores = eager::sum(best, {-1}, eager::KeepDim::no);
  }
  Tensor group_idx = eager::topk(group_scores, config.router.chosen_groups, -1).indices;
  Tensor group_mask = zeros_like(group_scores);
  Tensor score_mask = eager::reshape(
      eager::expand(eager::unsqueeze(group_mask, -1), {tokens, groups, config.experts / groups}),
      {tokens, -1});
  Tensor masked;
  {
    const eager::OpScope op(scores.runtime(), "bitwise_not");
    Tensor chosen = eager::to_dtype(score_mask, DType::boolean);
    const Tensor hidden = eager::compare("bitwise_not", {chosen});
    chosen.reset();
    masked = eager::masked_fill(scores, hidden);
  }
  Selected best = eager::topk(masked, config.top_k, -1);
  eager::end_of_frame(group_scores, group_idx, group_mask, score_mask, masked);
  return best;
}

Selected best_experts(const Tensor& scores, const Config& config) {
  return config.router.groups > 1 ? best_of_groups(scores, config)
                                  : eager::topk(scores, config.top_k, 1);
}

Tensor softmax_in_fp32(const Tensor& scores) {
  return eager::to_dtype(eager::softmax(scores, -1, DType::fp32), scores.dtype());
}

Chosen softmax_choice(const Tensor& logits, const Config& config) {
  Chosen chosen;
  if (config.router.scores == RouterScores::softmax_of_all) {
    chosen.scores = softmax_in_fp32(logits);
    Selected best = best_experts(chosen.scores, config);
    chosen.probs = std::move(best.values);
    chosen.indices = std::move(best.indices);
    return chosen;
  }
  Selected best = best_experts(logits, config);
  chosen.scores = std::move(best.values);
  chosen.indices = std::move(best.indices);
  chosen.probs = softmax_in_fp32(chosen.scores);
  return chosen;
}

Chosen sigmoid_choice(const Tensor& logits, const Config& config, const Tensor& expert_bias) {
  Chosen chosen;
  Tensor scores;
  {
    const Tensor wide = eager::to_dtype(logits, DType::fp32);
    scores = eager::to_dtype(eager::sigmoid(wide), logits.dtype());
  }
  chosen.corrected_scores = eager::add(scores, expert_bias);
  Selected best = best_experts(chosen.corrected_scores, config);
  chosen.indices = std::move(best.indices);
  chosen.corrected_best = std::move(best.values);
  chosen.scores = eager::to_dtype(eager::gather(scores, 1, chosen.indices), logits.dtype());
  chosen.probs = chosen.scores;
  if (config.top_k > 1) {
    const Tensor total = eager::add(eager::sum(chosen.scores, {-1}, eager::KeepDim::yes), 1e-20);
    chosen.probs = eager::div(chosen.scores, total);
  }
  return chosen;
}

}  // namespace

Chosen chosen_experts(const Tensor& logits, const Config& config, const Tensor& expert_bias) {
  Chosen chosen = config.router.scores == RouterScores::sigmoid
                      ? sigmoid_choice(logits, config, expert_bias)
                      : softmax_choice(logits, config);
  if (config.router.scales) {
    chosen.probs = eager::mul(chosen.probs, 1.0);
  }
  return chosen;
}

Tensor zeros_like(const Tensor& self) {
  const eager::OpScope op(self.runtime(), "zeros_like");
  return eager::empty_like(self);
}

Tensor scattered(const Tensor& like, const Tensor& indices, const Tensor& values) {
  eager::Runtime& runtime = like.runtime();
  const auto node = eager::begin_node(runtime, "ScatterBackward0", {values});
  const Tensor zeros = zeros_like(like);
  const eager::OpScope op(runtime, "scatter");
  Tensor result = eager::empty_like(zeros);
  eager::finish_node(node, result, [](Node& own, TensorList& grads) {
    const Tensor places = own.unpack(0);
    const eager::OpScope gather(*own.runtime, "gather");
    return TensorList{eager::empty(*own.runtime, places.sizes(), grads[0].dtype())};
  });
  if (node) {
    node->save(indices);
  }
  return result;
}

Tensor mask_of(const Tensor& like, DType dtype) {
  eager::Runtime& runtime = like.runtime();
  const eager::NoGrad no_grad(runtime);
  Tensor chain = zeros_like(like);
  chain = eager::to_dtype(chain, dtype);
  chain = eager::clone(chain);  // scatter
  return eager::to_dtype(chain, DType::boolean);
}

}  // namespace highwater::megatron
