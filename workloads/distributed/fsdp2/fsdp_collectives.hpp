// What fully_shard does around its collectives: copies in and out of flat blocks.
//
// Mirrors torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py of PyTorch 2.6. The flat blocks
// of an all-gather belong to the pool of the stream that copies into them, those of the reduced
// gradients to the stream of the reduction, so the default stream's requests cannot use them.
#pragma once

#include <optional>
#include <vector>

#include "workloads/distributed/fsdp2/fsdp_param.hpp"
#include "workloads/distributed/process_group.hpp"

namespace highwater::dist {

/// The groups of a job: parameters are sharded within one, and of replicas of those shards
/// gradients are summed over the other (HSDP).
struct FsdpGroups {
  ProcessGroup shard;
  std::optional<ProcessGroup> replicate;
};

/// Streams of FSDPCommContext.
struct FsdpStreams {
  StreamId all_gather_copy_in;
  StreamId reduce_scatter;
  StreamId all_reduce;
};

/// One block with the whole parameters, rank by rank; asked for on `stream`.
eager::Tensor foreach_all_gather(std::vector<FsdpParam>& params, FsdpGroups& groups,
                                 StreamId stream);

/// Each parameter gets its part of `gathered` in a block of its own.
void foreach_all_gather_copy_out(const eager::Tensor& gathered, std::vector<FsdpParam>& params);

/// What a reduction must keep until others have waited for it.
struct ReduceState {
  eager::Tensor reduce_scatter_input;
  eager::Tensor all_reduce_input;  ///< of HSDP only
  Work all_reduce;
};

/// Sums `grads`, those of `params`, over the ranks; each parameter gets its part of one block.
ReduceState foreach_reduce(std::span<FsdpParam* const> params, std::vector<eager::Tensor> grads,
                           FsdpGroups& groups, const FsdpStreams& streams,
                           std::optional<DType> reduce_dtype);

}  // namespace highwater::dist
