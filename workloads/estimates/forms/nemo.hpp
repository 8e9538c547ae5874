// NeMo's estimate for training GPT models: the formulas that the article prints and those behind
// its table of 18 runs, which are not the same.
#pragma once

#include "workloads/estimates/terms/formula.hpp"

namespace highwater {

/// As printed, or as all 72 numbers of the table require: gradients of 4 bytes and no dropout masks
/// in the layers.
enum class NemoVersion : std::uint8_t { printed, table };

/// The article's symbols.
struct NemoRun {
  double seq = 0;     ///< s, tokens
  double batch = 0;   ///< b, sequences per micro-batch and GPU
  double hidden = 0;  ///< h
  double heads = 0;   ///< a
  double layers = 0;  ///< L
  double vocab = 0;   ///< v
  double tp = 1;      ///< t
  double dp = 1;      ///< d
};

/// Bytes of states for `parameters` (P): (4 + 10 / d) P / t printed, (6 + 10 / d) P / t in the
/// table. 10 = two fp32 moments and the 16 bits that fp32 weights have more than bf16 ones, shared
/// by the data-parallel ranks. Source: NeMo blog on GPT training memory, static memory.
Estimate nemo_static(NemoVersion version, double parameters, const NemoRun& run);

/// Bytes kept for backward with selective recomputation: s b h L (10 + 28.25 / t) + 2 s b h +
/// (3 s b h + 4 s b v) / t printed, with 8 for 10 in the table. Source: same, activation memory.
Estimate nemo_activations(NemoVersion version, const NemoRun& run);

/// Bytes kept for backward on one GPU if nothing is recomputed: L s b h (38.25 + 5 a s / h) +
/// 5 s b h + 4 s b v. Source: same, activation memory.
Estimate nemo_full_activations(const NemoRun& run);

/// Bytes of the loss: an fp32 copy of the logits, 4 s b v / t, and with tensor parallelism a buffer
/// of 2 s b v / t. Source: same, cross-entropy overhead.
Estimate nemo_cross_entropy(const NemoRun& run);

/// Bytes of one gradient bucket of Apex's distributed optimizer, 4 P / (L t). The article's 200 MB
/// are 4 bytes for each parameter of one layer: the same with nemo_layer_parameters and L = 1.
double nemo_bucket(double parameters, double layers, double tp);

/// Parameters of one layer's matrices with a gated MLP of width `ffn` (F): 4 h^2 + 3 h F.
double nemo_layer_parameters(double hidden, double ffn);

/// Bytes of states when every layer fills one whole bucket of `bucket_slots` elements, of gradients
/// (4) and shared states (10 / d), while both embeddings and the 16-bit weights take their own
/// size. A rough model of a measurement that the article quotes (12.5 GB), not its own formula.
double nemo_bucketed_static(double parameters, const NemoRun& run, double bucket_slots);

extern const Formula kNemoPrinted;
extern const Formula kNemoTable;

}  // namespace highwater
