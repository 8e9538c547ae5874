#include "workloads/megatron/moe/moe_router.hpp"

#include <utility>

#include "workloads/eager/node.hpp"

namespace highwater::megatron {
namespace {

using eager::Node;
using eager::Tensor;
using eager::TensorList;

Tensor product(eager::Runtime& runtime, const eager::Dims& sizes) {
  const eager::OpScope op(runtime, "te_general_gemm");
  return eager::empty(runtime, sizes, DType::fp32);
}

Tensor zeros_like(const Tensor& self) {
  const eager::OpScope op(self.runtime(), "zeros_like");
  return eager::empty_like(self);
}

// RouterGatingLinearFunction.backward: both products need fp32 operands.
TensorList gating_backward(Node& node, TensorList& grads) {
  const Tensor input = node.unpack(0);
  const Tensor weight = node.unpack(1);
  eager::Runtime& runtime = *node.runtime;
  const eager::Dims rows{grads[0].numel() / weight.size(0), input.size(-1)};
  const auto with_wide = [&](const Tensor& operand, const eager::Dims& sizes) {
    const Tensor wide = eager::to_dtype(operand, DType::fp32);
    return product(runtime, sizes);
  };
  Tensor grad_input = with_wide(weight, rows);
  Tensor grad_weight = with_wide(input, weight.sizes());
  grad_input = eager::to_dtype(grad_input, input.dtype());
  grad_weight = eager::to_dtype(grad_weight, weight.dtype());
  grad_input = eager::view(grad_input, input.sizes());
  return {std::move(grad_input), std::move(grad_weight)};
}

// get_workspace() of Transformer Engine: once per process, 32 MiB from Hopper on.
void make_workspace_once(eager::Runtime& runtime, bool& is_made) {
  if (std::exchange(is_made, true)) {
    return;
  }
  constexpr std::int64_t kMiB = 1 << 20;
  const std::int64_t bytes = runtime.gpu.major >= 9 ? 32 * kMiB : 4 * kMiB;
  const eager::OpScope op(runtime, "get_cublas_workspace", 0);
  const Tensor workspace = eager::empty(runtime, {bytes}, DType::uint8);
  runtime.categorize(workspace, Category::workspace);
  runtime.workspaces.push_back(workspace);
}

Tensor gating(const Tensor& input, const Tensor& weight) {
  eager::Runtime& runtime = input.runtime();
  const auto node =
      eager::begin_node(runtime, "RouterGatingLinearFunctionBackward", {input, weight});
  eager::Dims sizes = input.sizes();
  sizes.back() = weight.size(0);
  Tensor logits = product(runtime, sizes);
  eager::finish_node(node, logits, gating_backward);
  if (node) {
    node->save(input);
    node->save(weight);
  }
  return logits;
}

// zeros_like(logits).scatter(1, indices, probs)
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

// zeros_like(logits).int().scatter(1, indices, 1).bool(), without .int() in the token dropping.
Tensor mask_of(const Tensor& like, DType dtype) {
  eager::Runtime& runtime = like.runtime();
  const eager::NoGrad no_grad(runtime);
  Tensor chain = zeros_like(like);
  chain = eager::to_dtype(chain, dtype);
  chain = eager::clone(chain);  // scatter
  return eager::to_dtype(chain, DType::boolean);
}

}  // namespace

Router::Router(nn::Module* parent, const Config& config, ExpertParallel& experts)
    : Module(parent, "router"), top_k_(config.top_k), experts_(experts) {
  const nn::InModule scope(*this);
  // torch.empty on the host in fp32, then .to(params_dtype).
  const eager::Scoped<eager::Place> on_host(context().place, eager::Place::host);
  weight_ = make_parameter("weight", {config.experts, config.hidden});
}

RoutingResult Router::operator()(const Tensor& hidden_states) const {
  const nn::InModule scope(*this);
  make_workspace_once(runtime(), experts_.has_workspace());
  const Tensor logits = gating(hidden_states, weight_);
  return choose(logits);
}

// topk_routing_with_score_function, then apply_router_token_dropping.
RoutingResult Router::choose(const Tensor& logits_in) const {
  const Tensor logits = eager::view(logits_in, {-1, logits_in.size(-1)});
  RoutingResult routed;
  {
    auto [scores, indices] = eager::topk(logits, top_k_, 1);
    Tensor probs = eager::softmax(scores, -1, DType::fp32);
    routed.probs = scattered(logits, indices, probs);
    routed.routing_map = mask_of(logits, DType::int32);
    eager::end_of_frame(scores, indices, probs);
  }
  return experts_.capacity_factor() ? limited(std::move(routed)) : std::move(routed);
}

RoutingResult Router::limited(RoutingResult routed) const {
  const Routing routing{
      .tokens = routed.probs.size(0), .experts = routed.probs.size(1), .top_k = top_k_};
  const std::int64_t capacity = expert_capacity(routing, *experts_.capacity_factor());
  eager::Selected chosen;
  Tensor mask;
  if (capacity > routing.tokens) {
    const eager::NoGrad no_grad(runtime());
    const Tensor ones = zeros_like(routed.probs);
    mask = eager::to_dtype(ones, DType::boolean);
  } else {
    chosen = eager::topk(routed.probs, capacity, 0);
    mask = mask_of(routed.probs, routed.probs.dtype());
  }
  Tensor probs = eager::mul(routed.probs, mask);
  eager::end_of_frame(chosen.values, chosen.indices, routed.probs, routed.routing_map);
  return {.probs = std::move(probs), .routing_map = std::move(mask)};
}

}  // namespace highwater::megatron
