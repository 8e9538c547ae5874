// How a job spreads over GPUs: one struct per axis, each with the defaults of the code it imitates.
//
// Numbers cite the file that sets them. An axis of size 1 changes nothing.
#pragma once

#include <optional>

#include "workloads/plan/ddp_options.hpp"
#include "workloads/plan/fsdp_options.hpp"
#include "workloads/plan/gemini_options.hpp"
#include "workloads/plan/megatron_options.hpp"
#include "workloads/plan/parallel_kinds.hpp"
#include "workloads/plan/zero_options.hpp"

namespace highwater {

/// How a job spreads over GPUs: dp * tp * pp * cp of them.
struct Parallelism {
  int dp = 1;
  DataParallel dp_kind = DataParallel::ddp;
  int tp = 1;
  TensorParallel tp_kind = TensorParallel::megatron;
  int tp_depth = 1;                ///< 2.5D: grids of ranks with the same weights
  bool sequence_parallel = false;  ///< norms and dropouts are split along the sequence
  bool loss_parallel = false;      ///< DTensor: logits stay split over the vocabulary
  int pp = 1;
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
  int chunks = 2;  ///< of an interleaved schedule: model chunks per rank
  int cp = 1;      ///< context parallel: parts of each sequence
  ContextParallel cp_kind = ContextParallel::ring;
  int ep = 1;              ///< ranks over which experts are spread, a part of tp * dp * cp / etp
  std::optional<int> etp;  ///< ranks that share each expert's matrices; absent: tp
  Offload offload = Offload::none;

  Ddp ddp;
  Fsdp fsdp;
  Megatron megatron;
  Apex apex;
  Zero zero;  ///< DeepSpeed's zero_optimization
  Gemini gemini;
  bool no_sync = false;  ///< gradients are reduced only after the last micro-batch of a step

  int rank = 0;  ///< the rank whose memory is simulated, from 0; RankPlace gives its coordinates

  CommBackend backend = CommBackend::nccl;
  int event_lag = 0;      ///< kernel launches by which events of other streams are delayed
  int event_queries = 0;  ///< an event is found incomplete this many times

  /// GPUs of the smallest job.
  [[nodiscard]] int gpus() const { return dp * tp * pp * cp; }

  bool operator==(const Parallelism&) const = default;
};

/// Whether the model is wrapped in FullyShardedDataParallel.
constexpr bool is_fsdp1(const Parallelism& p) {
  return p.dp > 1 && p.dp_kind == DataParallel::fsdp1;
}

/// Whether fully_shard is applied to the model, whose DTensors keep their identity in to_empty():
/// over context-parallel ranks as well.
constexpr bool is_fsdp2(const Parallelism& p) {
  return p.dp * p.cp > 1 && p.dp_kind == DataParallel::fsdp2;
}

/// Model chunks of a rank: several in an interleaved pipeline, otherwise one.
constexpr int model_chunks(const Parallelism& p) {
  return p.pp > 1 && p.schedule == PipelineSchedule::interleaved ? p.chunks : 1;
}

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

/// A group of ranks and this rank's number in it.
struct GroupPlace {
  int ranks = 1;
  int rank = 0;

  bool operator==(const GroupPlace&) const = default;
};

/// The ranks that sum the same gradients: context-parallel ranks count as data-parallel ones as
/// well (parallel_state.py: get_data_parallel_group(with_context_parallel=True)).
constexpr GroupPlace data_group(const Parallelism& p) {
  const int ranks = p.dp * p.cp;
  return {.ranks = ranks, .rank = p.rank / p.tp % ranks};
}

/// Ranks among which an expert's matrices are split (--expert-tensor-parallel-size).
constexpr int expert_tp(const Parallelism& p) {
  return p.etp.value_or(p.tp);
}

/// Ranks of a stage that have different experts, or parts of them.
constexpr int ranks_of_experts(const Parallelism& p) {
  return expert_tp(p) * p.ep;
}

/// Neighbours among which the experts are spread (get_expert_model_parallel_group): a stage's ranks
/// are counted along etp first, then ep.
/// @pre etp * ep divides tp * dp * cp
constexpr GroupPlace expert_group(const Parallelism& p) {
  return {.ranks = p.ep, .rank = p.rank % (p.tp * p.cp * p.dp) / expert_tp(p) % p.ep};
}

/// Those with the same experts (get_expert_data_parallel_group).
constexpr GroupPlace expert_data_group(const Parallelism& p) {
  const int ranks = p.tp * p.cp * p.dp;
  return {.ranks = ranks / ranks_of_experts(p), .rank = p.rank % ranks / ranks_of_experts(p)};
}

}  // namespace highwater
