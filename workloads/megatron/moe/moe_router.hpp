// TopKRouter: which experts each token goes to and with what weight.
//
// Source: Megatron-Core 0.16.1, core/transformer/moe/{router,moe_utils}.py, without the router's
// fused kernels (--moe-router-fusion). The gate's product is Transformer Engine's general_gemm up
// to its release 2.9; later ones lack a function that Megatron-Core imports beside it
// (module.base.get_workspace), and PyTorch multiplies.
#pragma once

#include "workloads/megatron/layers/layer_context.hpp"
#include "workloads/nn/module.hpp"

namespace highwater::megatron {

/// Both [tokens, experts].
struct RoutingResult {
  eager::Tensor probs;        ///< of the logits' type, with a gradient
  eager::Tensor routing_map;  ///< boolean
};

class Router : public nn::Module {
 public:
  Router(nn::Module* parent, const LayerContext& shared);

  RoutingResult operator()(const eager::Tensor& hidden_states) const;

 private:
  [[nodiscard]] eager::Tensor gate(const eager::Tensor& input) const;
  [[nodiscard]] RoutingResult choose(const eager::Tensor& logits) const;
  [[nodiscard]] RoutingResult limited(RoutingResult routed) const;
  [[nodiscard]] eager::Tensor balanced(const eager::Tensor& probs, const eager::Tensor& logits,
                                       std::int64_t sequences) const;
  void count_tokens(const RoutingResult& routed) const;

  const Config& config_;
  ExpertParallel& experts_;
  eager::Tensor weight_;
  eager::Tensor expert_bias_;  ///< undefined without one
};

}  // namespace highwater::megatron
