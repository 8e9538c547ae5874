// TopKRouter: which experts each token goes to and with what weight.
//
// Source: Megatron-Core 0.16.1, core/transformer/moe/{router,moe_utils}.py with moe_router_dtype
// fp32, the softmax after the choice (moe_router_pre_softmax false) and no auxiliary loss
// (moe_aux_loss_coeff 0, the defaults). The gate's product is Transformer Engine's general_gemm,
// which Megatron-Core's router requires.
#pragma once

#include "workloads/megatron/layers/expert_parallel.hpp"
#include "workloads/nn/module.hpp"

namespace highwater::megatron {

/// Both [tokens, experts].
struct RoutingResult {
  eager::Tensor probs;        ///< fp32, with a gradient
  eager::Tensor routing_map;  ///< boolean
};

class Router : public nn::Module {
 public:
  Router(nn::Module* parent, const Config& config, ExpertParallel& experts);

  RoutingResult operator()(const eager::Tensor& hidden_states) const;

 private:
  [[nodiscard]] RoutingResult choose(const eager::Tensor& logits) const;
  [[nodiscard]] RoutingResult limited(RoutingResult routed) const;

  std::int64_t top_k_;
  ExpertParallel& experts_;
  eager::Tensor weight_;
};

}  // namespace highwater::megatron
