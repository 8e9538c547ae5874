// Activations of a transformer by Korthikanti et al., "Reducing Activation Recomputation in Large
// Transformer Models" (2022).
#pragma once

#include "workloads/estimates/terms/formula.hpp"

namespace highwater {

/// The paper's symbols.
struct KorthikantiRun {
  double seq = 0;     ///< s, tokens
  double batch = 0;   ///< b, sequences per micro-batch
  double hidden = 0;  ///< h
  double heads = 0;   ///< a
  double layers = 0;  ///< L
  double vocab = 0;   ///< v
  double tp = 1;      ///< t
  bool sequence_parallel = false;
  double pp = 1;      ///< p
  double chunks = 1;  ///< m, interleaved stages per rank; 1: not interleaved
};

/// What backward computes again: nothing; attention's scores; whole layers. `fused` is an attention
/// that never stores scores (FlashAttention), which came after the paper.
enum class KorthikantiRecompute : std::uint8_t { none, selective, full, fused };

/// Bytes that one layer keeps for backward. Source: table 2, equations 1, 2, 4 and 6; `fused` is
/// `selective` with the kernel's fp32 statistic of each row, 4 a s b / t.
Estimate korthikanti_layer(const KorthikantiRun& run, KorthikantiRecompute recompute);

/// Layers whose activations the first stage holds: L, or with m chunks L (1 + (p - 1) / (p m)).
/// Source: section 4.2.3.
double korthikanti_layers_held(const KorthikantiRun& run);

/// Bytes on the first pipeline stage: its layers, the embedding's dropout mask for p micro-batches
/// (s b h p / t) and, if p = 1, final norm, output projection and logits: 4 s b h / t (1 + v / h).
/// Source: sections 4.2.3 and 4.3.
Estimate korthikanti(const KorthikantiRun& run, KorthikantiRecompute recompute);

extern const Formula kKorthikanti;

}  // namespace highwater
