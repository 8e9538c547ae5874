// Attention of ranks that share sequences: each has its queries, and the keys and values of all
// pass by, gathered at once; in the backward the gradients of keys and values go from rank to rank.
//
// Source: PyTorch 2.15, distributed/tensor/experimental/_context_parallel/_attention.py
// (_templated_ring_attention, _templated_ring_attention_backward, _AllGatherRotater,
// _AllToAllRotater) with its defaults: causal attention, ranks that have a chunk from the front and
// one from the back, sums in fp32. Releases from 2.12 on do the same.
#pragma once

#include "workloads/distributed/process_group.hpp"
#include "workloads/eager/attention_kernels.hpp"
#include "workloads/plan/parallel_kinds.hpp"

namespace highwater::dist {

class RingAttention : public eager::sdpa::SharedAttention {
 public:
  RingAttention(eager::Runtime& runtime, int ranks, int rank, CommBackend backend)
      : group_(runtime, ranks, backend), rank_(rank) {}

  eager::TensorList forward(const eager::sdpa::FusedAttention& kernel,
                            const eager::sdpa::Operands& in,
                            const eager::sdpa::KernelCall& call) override;
  eager::TensorList backward(const eager::sdpa::FusedAttention& kernel,
                             const eager::sdpa::BackwardOperands& in) override;

 private:
  ProcessGroup group_;
  int rank_;
};

}  // namespace highwater::dist
