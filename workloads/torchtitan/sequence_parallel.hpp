// Tensor parallelism with sequence parallelism: ranks split products between them, and everything
// between those along the sequence.
//
// Source: torchtitan 0.3, models/common/decoder_sharding.py and distributed/spmd_types.py (its
// backend "spmd_types"); spmd_types, _collectives.py (_AllGatherShard, _ReduceScatterShard). Local
// tensors are plain ones; functional collectives are waited for at once.
#pragma once

#include "workloads/distributed/process_group.hpp"
#include "workloads/plan/parallel_kinds.hpp"

namespace highwater::torchtitan {

/// Ranks that share a sequence: those that split a model's products, or its attention.
class SequenceRanks {
 public:
  SequenceRanks(eager::Runtime& runtime, int size, CommBackend backend)
      : group_(runtime, size, backend), size_(size) {}

  [[nodiscard]] int size() const { return size_; }

  /// A [b, s / ranks, ...] part of the sequence becomes the whole of it; its gradient is summed.
  eager::Tensor gather(const eager::Tensor& part);

  /// Parts of a sum, [b, s, ...], become this rank's part of the sequence of the sum.
  eager::Tensor sum_and_split(const eager::Tensor& terms);

  /// A functional all-reduce: a tensor of its own.
  eager::Tensor sum(const eager::Tensor& terms);

  /// What the first two do, and their gradients, without autograd.
  eager::Tensor gathered(const eager::Tensor& part);
  eager::Tensor scattered(const eager::Tensor& terms);

 private:
  dist::ProcessGroup group_;
  int size_;
};

/// cross_entropy of logits of which each rank has its words (_LossParallelCrossEntropy of
/// components/loss.py), [tokens, words] fp32 and [tokens].
eager::Tensor parallel_cross_entropy(SequenceRanks& ranks, const eager::Tensor& logits,
                                     const eager::Tensor& labels);

/// The lookup in a table of which each rank has its rows (models/common/embedding.py): a part of a
/// sum.
eager::Tensor parallel_embedding(const eager::Tensor& weight, const eager::Tensor& tokens);

}  // namespace highwater::torchtitan
