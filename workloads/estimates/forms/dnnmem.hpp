// DNNMem as LLMem describes it: a walk over the compute graph that frees each tensor after its last
// use.
#pragma once

#include "traces/units.hpp"
#include "workloads/estimates/terms/formula.hpp"
#include "workloads/graph/compute_graph.hpp"

namespace highwater {

/// What DNNMem adds for the allocator: "64 MB", taken as MiB.
inline constexpr Bytes kDnnmemBuffer{64ULL << 20};

/// The weights that exist when `range` begins, each rounded up to the allocator's 512 bytes.
/// Building a model allocates more: a tied head is created and dropped, half precision is a copy.
Bytes dnnmem_weights(const ComputeGraph& graph, const RequestTrace& trace,
                     const OperatorRange& range);

/// The most bytes live at one operator of `range`: its inputs and outputs and every earlier tensor
/// whose last use is still to come, each rounded up to 512 bytes. Weights are not among them;
/// gradients of weights wait for the optimizer, so they stay to the end.
Bytes dnnmem_tensors(const ComputeGraph& graph, const OperatorRange& range);

/// The peak on one GPU with `context` bytes outside the allocator. Source: LLMem on its
/// re-implementation of DNNMem (Gao et al., ESEC/FSE 2020).
Estimate dnnmem(Bytes context, const ComputeGraph& graph, const RequestTrace& trace,
                const OperatorRange& range);

extern const Formula kDnnmem;

}  // namespace highwater
