// Context parallelism: every rank has two of 2 * cp chunks of each sequence, from the embedding to
// the loss, and only attention sees all of it.
//
// Source: Transformer Engine 2.x, pytorch/attention/dot_product_attention/context_parallel.py
// (AttnFuncWithCPAndKVP2P, AttnFuncWithCPAndQKVOA2A) with FlashAttention 2 as its kernel, and
// Megatron-Core 0.16.1 (core/utils.py: get_batch_on_this_cp_rank; rope_utils.py:
// get_pos_emb_on_this_cp_rank). Functions that Transformer Engine compiles (jit_fuser) are one
// kernel here and allocate only their result.
#pragma once

#include "traces/release.hpp"
#include "workloads/distributed/process_group.hpp"
#include "workloads/plan/parallel_kinds.hpp"

namespace highwater {
struct Parallelism;
}

namespace highwater::megatron {

/// The ranks that share each sequence, as this rank sees them.
class ContextParallelGroup {
 public:
  /// `release` of Transformer Engine.
  ContextParallelGroup(eager::Runtime& runtime, const Parallelism& plan, Release release);

  [[nodiscard]] int size() const { return group_.size(); }

  [[nodiscard]] int rank() const { return rank_; }

  [[nodiscard]] dist::ProcessGroup& group() { return group_; }

  /// Whether an exchange of heads keeps attention's result as it was before it was sent, beside the
  /// one that the next layer keeps. Since 2.8: backward sends the gradient alone.
  [[nodiscard]] bool keeps_result_of_heads() const { return keeps_result_of_heads_; }

  /// What attention allocates in one of its two streams: the main one and cp_stream.
  [[nodiscard]] StreamId stream_of(int step) const;

  /// This rank's two chunks along `dim` of a tensor of the whole sequence. Without context
  /// parallelism the tensor itself.
  [[nodiscard]] eager::Tensor own_part(const eager::Tensor& whole, std::int64_t dim) const;

  /// Causal attention of [s / cp, b, heads, d] operands over the whole sequence:
  /// [s / cp, b, heads * d]. @pre size() > 1
  eager::Tensor attend(const eager::Tensor& query, const eager::Tensor& key,
                       const eager::Tensor& value, double dropout);

 private:
  /// The places of chunks before or after an exchange of heads, made once.
  void make_chunk_ids(eager::Tensor& ids);

  friend class HeadExchange;

  dist::ProcessGroup group_;
  int rank_;
  ContextParallel kind_;
  bool keeps_result_of_heads_;
  StreamId main_stream_;
  StreamId side_stream_;
  eager::Tensor ids_before_;
  eager::Tensor ids_after_;
};

}  // namespace highwater::megatron
