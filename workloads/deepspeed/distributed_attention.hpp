// DeepSpeed's DistributedAttention, the layer that Megatron-DeepSpeed puts around its attention:
// each rank gives its tokens for a part of the heads, attends to the whole sequence with them, and
// gives them back.
//
// Source: DeepSpeed 0.19.8, sequence/layer.py (DistributedAttention, _SeqAllToAll,
// single_all_to_all) with batches in front (batch_dim_idx 0), without sp_stream.
#pragma once

#include "workloads/distributed/process_group.hpp"
#include "workloads/plan/parallelism.hpp"

namespace highwater::deepspeed {

class DistributedAttention {
 public:
  DistributedAttention(eager::Runtime& runtime, const Parallelism& parallel)
      : ranks_(runtime, parallel.cp, parallel.backend) {}

  /// [b, heads, s / N, d] operands in, [b, s / N, heads d] out.
  eager::Tensor operator()(eager::AttentionOperands in, const eager::AttendHeads& attend);

 private:
  enum class Scattered { heads, tokens };

  eager::Tensor exchanged(const eager::Tensor& input, Scattered scattered);
  eager::Tensor single_all_to_all(const eager::Tensor& input, Scattered scattered);
  eager::Tensor split(const eager::Tensor& input, Scattered scattered) const;
  static eager::Tensor joined(const eager::Tensor& output, Scattered scattered);

  dist::ProcessGroup ranks_;
};

}  // namespace highwater::deepspeed
