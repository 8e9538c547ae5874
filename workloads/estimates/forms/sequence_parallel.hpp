// Elements of one block under tensor and under sequence parallelism, as Li et al. compare them.
//
// Source: Li, Xue, Baranwal, Li, You, "Sequence Parallelism: Long Sequence Training from System
// Perspective", arXiv 2105.13120, Tables 1 and 2: parameters with gradients and Adam's states, then
// activations.
#pragma once

#include "workloads/estimates/terms/formula.hpp"

namespace highwater {

/// Their symbols: B, L, H, N, Z, A.
struct SequenceBlock {
  double batch = 1;
  double length = 0;
  double hidden = 0;
  double ranks = 1;
  double heads = 0;
  double head_size = 0;
};

/// What N ranks share: a block's weights (tensor parallelism) or its tokens.
enum class BlockShare : std::uint8_t { weights, tokens };

/// Elements of model states and of activations.
struct BlockElements {
  double states = 0;
  double activations = 0;

  [[nodiscard]] double sum() const { return states + activations; }
};

BlockElements mlp_elements(const SequenceBlock& block, BlockShare share);
BlockElements attention_elements(const SequenceBlock& block, BlockShare share);

extern const Formula kSequenceParallel;

}  // namespace highwater
