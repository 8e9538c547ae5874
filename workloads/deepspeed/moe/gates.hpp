// Which experts a token goes to, as DeepSpeed-MoE's gates decide it, and the loss that spreads
// them.
//
// The gates are those of GShard and Switch with the noise that Shazeer et al. 2017 add before the
// choice. Source: DeepSpeed 0.19.8, moe/sharded_moe.py (TopKGate, top1gating, top2gating and
// topkgating with sparse_routes, multiplicative_jitter, gumbel_rsample); torch 2.15,
// distributions/{uniform,gumbel, transforms}.py.
#pragma once

#include <optional>

#include "workloads/distributed/process_group.hpp"
#include "workloads/nn/layers.hpp"

namespace highwater::deepspeed {

using eager::Tensor;
using nn::Module;

/// The constants of the distributions that gates draw from, made at the first draw and shared by
/// all layers (gumbel_map, exp_selection_uniform_map, uniform_map).
struct GateDistributions {
  std::vector<Tensor> gumbel;
  std::vector<Tensor> selection;
  std::vector<Tensor> jitter;
};

struct GateShape {
  std::int64_t hidden = 0;
  std::int64_t experts = 0;
  std::int64_t top_k = 1;
};

/// What a gate returns: [k, tokens] each, and the tokens of each expert.
struct Routes {
  Tensor loss;
  Tensor experts;
  Tensor slots;
  Tensor weights;
  Tensor counts;
  Tensor capacity;  ///< on the device, where no token is dropped, until the host has read it
  std::int64_t slots_of_expert = 0;
};

class TopKGate : public Module {
 public:
  TopKGate(Module* parent, const GateShape& shape, GateDistributions& distributions,
           dist::ProcessGroup& ranks);

  Routes operator()(const Tensor& tokens) const;

 private:
  GateShape shape_;
  GateDistributions& distributions_;
  dist::ProcessGroup& ranks_;
  nn::Linear wg_;
};

/// torch.ceil(tokens / experts * factor), at least MoE's min_capacity.
std::int64_t expert_capacity(std::int64_t tokens, std::int64_t experts, double factor);

}  // namespace highwater::deepspeed
