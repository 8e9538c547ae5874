// Sends many tensors from rank 0 to the others, in few large pieces.
#pragma once

#include <cstdint>
#include <span>

#include "workloads/distributed/process_group.hpp"

namespace highwater::dist {

/// DDP's size of a piece, in bytes (torch/nn/parallel/distributed.py: broadcast_bucket_size).
inline constexpr std::int64_t kBroadcastBytes = std::int64_t{250} << 20;

/// Buckets of `bytes` are flattened into one block each, broadcast and copied back; at most two
/// exist at a time. A bucket of one tensor is sent as it is.
/// Source: c10d::broadcast_coalesced, BroadcastWork (torch/csrc/distributed/c10d/comm.cpp).
void broadcast_coalesced(ProcessGroup& group, std::span<const eager::Tensor> tensors,
                         std::int64_t bytes = kBroadcastBytes);

}  // namespace highwater::dist
