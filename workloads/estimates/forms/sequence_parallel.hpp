// Elements of one block under tensor and under sequence parallelism, as Li et al. compare them.
//
// Source: Li, Xue, Baranwal, Li, You, "Sequence Parallelism: Long Sequence Training from System
// Perspective", arXiv 2105.13120, Tables 1 and 2: parameters with gradients and Adam's states, then
// activations.
#pragma once

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

double mlp_of_tensor_parallel(const SequenceBlock& block);
double mlp_of_sequence_parallel(const SequenceBlock& block);
double attention_of_tensor_parallel(const SequenceBlock& block);
double attention_of_sequence_parallel(const SequenceBlock& block);

}  // namespace highwater
