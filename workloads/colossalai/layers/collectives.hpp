// Collectives along any dimension, and the autograd Functions around them.
//
// Dimensions other than the first are brought to the front by a copy, and back by a view. Source:
// Colossal-AI 0.5, legacy/communication/collective.py; legacy/nn/layer/parallel_{2d,2p5d,3d}/
// _operation.py (_AllGatherTensor*, _ReduceScatterTensor*, _ReduceByBatch*).
#pragma once

#include <initializer_list>

#include "workloads/colossalai/layers/python_context.hpp"
#include "workloads/distributed/process_group.hpp"

namespace highwater::colossalai {

using dist::ProcessGroup;

/// All ranks' parts of `dim`, one after the other.
Tensor all_gather(const Tensor& part, std::int64_t dim, ProcessGroup& group);

/// This rank's part of `dim` of the sum.
Tensor reduce_scatter(const Tensor& terms, std::int64_t dim, ProcessGroup& group);

/// The same while the work goes on: `result` may be read after `work`.
struct Scattered {
  Tensor result;
  dist::Work work;
};

Scattered start_reduce_scatter(const Tensor& terms, std::int64_t dim, ProcessGroup& group);

/// The sum, in place where `terms` is contiguous.
Tensor all_reduce(const Tensor& terms, ProcessGroup& group);

/// all_gather, whose gradient is scattered.
Tensor gather_tensor(const Tensor& part, std::int64_t dim, ProcessGroup& group);

/// The same for a gradient that is made contiguous.
Tensor gather_contiguous_tensor(const Tensor& part, std::int64_t dim, ProcessGroup& group);

/// reduce_scatter, whose gradient is gathered.
Tensor reduce_scatter_tensor(const Tensor& terms, std::int64_t dim, ProcessGroup& group);

/// The mean of a loss over the ranks of `groups`, one group after the other.
Tensor mean_over_ranks(const Tensor& loss, std::initializer_list<ProcessGroup*> groups);

/// This rank's part of the rows: a view where they are contiguous.
Tensor own_rows(const Tensor& whole, std::int64_t ranks, std::int64_t rank);

}  // namespace highwater::colossalai
