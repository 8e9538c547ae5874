// How a job spreads over GPUs: one struct per axis, each with the defaults of the code it imitates.
//
// Numbers cite the file that sets them. An axis whose size is 1 changes nothing.
#pragma once

#include <cstdint>
#include <optional>

#include "workloads/dist/deepspeed/zero_options.hpp"
#include "workloads/dtype.hpp"

namespace highwater {

/// How replicas of the model share their states.
enum class DataParallel : std::uint8_t { ddp, zero1, zero2, zero3, fsdp1, fsdp2 };

/// Whose tensor parallelism: where activations are split, gathered and kept.
enum class TensorParallel : std::uint8_t { megatron, colossalai, dtensor };

enum class PipelineSchedule : std::uint8_t { gpipe, one_f_one_b, interleaved };

/// What lives in host memory.
enum class Offload : std::uint8_t { none, optimizer, params, both, activations };

/// What carries collectives: NCCL, or PyTorch's stand-in for tests, which does nothing.
enum class CommBackend : std::uint8_t { nccl, fake };

/// torch.nn.parallel.DistributedDataParallel's own options.
struct Ddp {
  std::optional<double> bucket_cap_mb;  ///< MiB of every bucket; absent: 1 of the first, then 25
  bool bucket_view = false;             ///< gradient_as_bucket_view
  bool static_graph = false;

  bool operator==(const Ddp&) const = default;
};

/// Which groups give their gathered parameters back after forward (reshard_after_forward).
enum class Reshard : std::uint8_t { always, never, but_last };

/// torch.distributed.fsdp.ShardingStrategy.
enum class ShardingStrategy : std::uint8_t { full_shard, shard_grad_op, no_shard, hybrid_shard };

/// Options of FullyShardedDataParallel (FSDP1) and fully_shard (FSDP2).
struct Fsdp {
  std::optional<DType> param_dtype;   ///< mixed precision: of gathered parameters and compute
  std::optional<DType> reduce_dtype;  ///< of the reduced gradients; absent: that of the gradients
  Reshard reshard = Reshard::always;  ///< FSDP2
  ShardingStrategy strategy = ShardingStrategy::full_shard;  ///< FSDP1
  bool use_orig_params = true;                               ///< FSDP1
  bool limit_all_gathers = true;                             ///< FSDP1
  bool forward_prefetch = false;                             ///< FSDP1
  int replicas = 1;  ///< HSDP: of the dp ranks this many copies, each sharded over the rest

  bool operator==(const Fsdp&) const = default;
};

/// How a job spreads over GPUs: dp * tp * pp * cp of them.
struct Parallelism {
  int dp = 1;
  DataParallel dp_kind = DataParallel::ddp;
  int tp = 1;
  TensorParallel tp_kind = TensorParallel::megatron;
  bool sequence_parallel = false;  ///< norms and dropouts are split along the sequence
  bool loss_parallel = false;      ///< DTensor: logits stay split over the vocabulary
  int pp = 1;
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
  int chunks = 2;  ///< of an interleaved schedule: model chunks per rank
  int cp = 1;      ///< context parallel: parts of each sequence
  int ep = 1;      ///< ranks over which experts are spread, a part of dp
  Offload offload = Offload::none;

  Ddp ddp;
  Fsdp fsdp;
  Zero zero;             ///< DeepSpeed's zero_optimization
  bool no_sync = false;  ///< gradients are reduced after the last micro-batch of a step only

  int rank = 0;  ///< whose memory is simulated, from 0; RankPlace says where it stands

  CommBackend backend = CommBackend::nccl;
  int event_lag = 0;      ///< kernel launches by which events of other streams complete late
  int event_queries = 0;  ///< an event is found incomplete so many times

  /// GPUs of the smallest job.
  [[nodiscard]] int gpus() const { return dp * tp * pp * cp; }

  bool operator==(const Parallelism&) const = default;
};

/// A rank's coordinates on the axes of a job.
struct RankPlace {
  int dp = 0;
  int tp = 0;
  int pp = 0;
  int cp = 0;

  bool operator==(const RankPlace&) const = default;
};

/// Ranks are counted along tp first, then cp, dp and pp (Megatron-Core, parallel_state.py: order
/// "tp-cp-ep-dp-pp").
/// @pre 0 <= p.rank < p.gpus()
constexpr RankPlace rank_place(const Parallelism& p) {
  return {.dp = p.rank / (p.tp * p.cp) % p.dp,
          .tp = p.rank % p.tp,
          .pp = p.rank / (p.tp * p.cp * p.dp),
          .cp = p.rank / p.tp % p.cp};
}

}  // namespace highwater
