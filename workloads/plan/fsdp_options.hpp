// Options of PyTorch's sharded data parallelism, FSDP1 and FSDP2.
#pragma once

#include <cstdint>
#include <optional>

#include "workloads/plan/dtype.hpp"

namespace highwater {

/// Which units free their gathered parameters after forward (reshard_after_forward). `always`: all
/// but the model's own, as fully_shard does unless it is told; `all`: it was told True for every
/// unit; `but_last`: for all but the last block.
enum class Reshard : std::uint8_t { always, never, but_last, all };

/// torch.distributed.fsdp.ShardingStrategy.
enum class ShardingStrategy : std::uint8_t { full_shard, shard_grad_op, no_shard, hybrid_shard };

/// torch.distributed.fsdp.BackwardPrefetch: when FSDP1 gathers the unit whose backward comes next.
/// `pre`: before the current one's backward, `post`: after it, `none`: when it comes.
enum class BackwardPrefetch : std::uint8_t { none, pre, post };

/// What is a fully_shard unit of its own: each block, with everything else in the model's unit
/// (torchtitan 01/2025); or also the embedding, and together the last norm, the head and an
/// embedding that shares its weight (accelerate 1.15, torchtitan 0.3). Under FSDP1 each block, and
/// each trained layer in it (peft 0.21, utils/other.py fsdp_auto_wrap_policy).
enum class FsdpUnits : std::uint8_t { blocks, ends, adapters };

/// Options of FullyShardedDataParallel (FSDP1) and fully_shard (FSDP2).
struct Fsdp {
  std::optional<DType> param_dtype;   ///< mixed precision: of gathered parameters and compute
  std::optional<DType> reduce_dtype;  ///< of the reduced gradients; absent: that of the gradients
  Reshard reshard = Reshard::always;  ///< FSDP2
  FsdpUnits units = FsdpUnits::blocks;
  ShardingStrategy strategy = ShardingStrategy::full_shard;    ///< FSDP1
  bool use_orig_params = true;                                 ///< FSDP1
  bool limit_all_gathers = true;                               ///< FSDP1
  bool forward_prefetch = false;                               ///< FSDP1
  BackwardPrefetch backward_prefetch = BackwardPrefetch::pre;  ///< FSDP1
  int replicas = 1;  ///< HSDP: this many replicas among the dp ranks, each sharded over the others

  bool operator==(const Fsdp&) const = default;
};

}  // namespace highwater
