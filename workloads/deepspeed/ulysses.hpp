// DeepSpeed's Ulysses around transformers' attention function: each rank gives its tokens for a
// part of the heads, attends to the whole sequence with them, and gives them back.
//
// Source: DeepSpeed 0.19.8, runtime/sequence_parallel/ulysses_sp.py (UlyssesSPAttentionHF),
// sequence/layer.py (_dim_zero_all_to_all).
#pragma once

#include "workloads/distributed/process_group.hpp"
#include "workloads/plan/parallelism.hpp"

namespace highwater::deepspeed {

class Ulysses {
 public:
  Ulysses(eager::Runtime& runtime, const Parallelism& parallel)
      : ranks_(runtime, parallel.cp, parallel.backend) {}

  /// [b, heads, s / N, d] operands in, [b, s / N, heads d] out.
  eager::Tensor operator()(eager::AttentionOperands in, const eager::AttendHeads& attend);

 private:
  eager::Tensor exchanged(const eager::Tensor& x);
  eager::Tensor heads_of_rank(const eager::Tensor& states);
  eager::Tensor tokens_of_rank(eager::Tensor states);

  dist::ProcessGroup ranks_;
};

}  // namespace highwater::deepspeed
