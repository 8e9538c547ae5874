// Model states of a mixture of experts per GPU, and the sizes of its layers' buffers.
#pragma once

#include "workloads/estimates/forms/zero_paper.hpp"

namespace highwater {

/// A model whose experts' parameters are counted apart.
struct MixtureParameters {
  double dense = 0;    ///< of everything but experts, on every rank
  double experts = 0;  ///< of all experts
};

/// N data-parallel ranks, of which groups of `expert` ranks hold all experts together.
struct MixtureRanks {
  double data = 1;
  double expert = 1;
};

/// Parameters of `layers` mixtures of `experts` MLPs of `matrices` h x f matrices each, without
/// their routers. Switch Transformer (arXiv 2101.03961), table 9, and DeepSpeed-MoE (arXiv
/// 2201.05596), table 2, print sums of it and of the dense part.
double expert_parameters(double layers, double experts, double hidden, double ffn,
                         double matrices = 2);

/// Each rank has 1 / ep of the experts, whose states are shared by the N / ep ranks with the same
/// ones; all else is data parallel over N. Source: DeepSpeed-MoE, section 5.2 (expert parallelism
/// and data parallelism), with the ZeRO paper's bytes for each parameter.
Estimate mixture_states(const MixtureParameters& parameters, const MixtureRanks& ranks,
                        ZeroStage stage);

/// Sizes of one layer of S tokens on a rank, in elements.
struct MixtureLayer {
  double tokens = 0;   ///< S
  double experts = 0;  ///< E
  double top_k = 1;
  double hidden = 0;           ///< M
  double capacity_factor = 1;  ///< of every expert

  /// C = k S / E times the factor. Source: Switch Transformer, equation 3; GShard (arXiv
  /// 2006.16668), section 2.2, has C = 2 S / E with two experts a token.
  [[nodiscard]] double capacity() const { return top_k * tokens / experts * capacity_factor; }

  /// The dispatched inputs [E, C, M] and as many outputs (GShard, algorithm 2).
  [[nodiscard]] double slots() const { return experts * capacity() * hidden; }

  /// The weights of combining [S, E, C] (GShard, algorithm 2).
  [[nodiscard]] double combine_weights() const { return tokens * experts * capacity(); }
};

extern const Formula kExpertParallel;

}  // namespace highwater
