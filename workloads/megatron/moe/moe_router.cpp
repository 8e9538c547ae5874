#include "workloads/megatron/moe/moe_router.hpp"

#include <utility>

#include "workloads/eager/node.hpp"
#include "workloads/megatron/layers/engine.hpp"
#include "workloads/megatron/moe/load_balancing.hpp"
#include "workloads/megatron/moe/router_gate.hpp"
#include "workloads/megatron/moe/router_scores.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::megatron {

using eager::Tensor;

namespace {

/// Whether the gate's product is PyTorch's.
bool multiplies_by_torch(const nn::ModelContext& context) {
  constexpr Release kWithoutGetWorkspace{2, 10};
  return uses_engine(context) &&
         release_of(context.plan.versions.transformer_engine) >= kWithoutGetWorkspace;
}

}  // namespace

Router::Router(nn::Module* parent, const LayerContext& shared)
    : Module(parent, "router"), config_(shared.config), experts_(shared.experts) {
  const nn::InModule scope(*this);
  {  // torch.empty on the host in fp32, then .to(params_dtype).
    const eager::Scoped<eager::Place> on_host(context().place, eager::Place::host);
    weight_ = make_parameter("weight", {config_.experts, config_.hidden});
  }
  if (config_.router.scores == RouterScores::sigmoid) {
    register_buffer("local_tokens_per_expert",
                    eager::empty(runtime(), {config_.experts}, DType::fp32));
    expert_bias_ = eager::empty(runtime(), {config_.experts}, DType::fp32);
    register_buffer("expert_bias", expert_bias_);
  }
}

RoutingResult Router::operator()(const Tensor& hidden_states) const {
  const nn::InModule scope(*this);
  const Tensor by_sequence = gate(hidden_states);
  const Tensor logits = eager::view(by_sequence, {-1, config_.experts});
  RoutingResult routed = choose(logits);
  if (experts_.capacity_factor()) {
    routed = limited(std::move(routed));
  }
  if (context().training && runtime().grad_enabled) {
    routed.probs = balanced(routed.probs, logits, hidden_states.size(1));
    count_tokens(routed);
  }
  return routed;
}

Tensor Router::gate(const Tensor& input) const {
  if (multiplies_by_torch(context())) {
    const bool is_fp32 = context().plan.parallel.megatron.moe_router_fp32;
    return gate_of_torch(input, weight_, is_fp32 ? DType::fp32 : input.dtype());
  }
  return gate_of_engine(input, weight_, experts_.has_workspace());
}

// topk_routing_with_score_function.
RoutingResult Router::choose(const Tensor& logits) const {
  Chosen chosen = chosen_experts(logits, config_, expert_bias_);
  RoutingResult routed;
  routed.probs = scattered(logits, chosen.indices, chosen.probs);
  routed.routing_map = mask_of(logits, DType::int32);
  eager::end_of_frame(chosen.scores, chosen.indices, chosen.probs, chosen.corrected_scores,
                      chosen.corrected_best);
  return routed;
}

RoutingResult Router::limited(RoutingResult routed) const {
  const Routing routing{
      .tokens = routed.probs.size(0), .experts = routed.probs.size(1), .top_k = config_.top_k};
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

// _apply_expert_bias: what the bias is corrected by after the step.
void Router::count_tokens(const RoutingResult& routed) const {
  if (expert_bias_.defined()) {
    const eager::NoGrad no_grad(runtime());
    const Tensor added =
        eager::reduce_plain("sum", routed.routing_map, {0}, eager::KeepDim::no, DType::int64);
  }
}

// The loss of balance is added to the graph behind the probabilities.
Tensor Router::balanced(const Tensor& probs, const Tensor& logits, std::int64_t sequences) const {
  const MoeBalancing kind = context().plan.parallel.megatron.moe_balancing;
  if (kind == MoeBalancing::none) {
    return probs;
  }
  const BalancedTokens tokens{.top_k = config_.top_k,
                              .sequences = kind == MoeBalancing::seq_aux_loss ? sequences : 1,
                              .is_sigmoid = config_.router.scores == RouterScores::sigmoid};
  return with_balancing_loss(probs, logits, tokens);
}

}  // namespace highwater::megatron
