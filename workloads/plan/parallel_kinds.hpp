// Whose way of spreading a job over GPUs a plan takes, axis by axis.
#pragma once

#include <cstdint>

namespace highwater {

/// How replicas of the model share their states.
enum class DataParallel : std::uint8_t { ddp, zero0, zero1, zero2, zero3, fsdp1, fsdp2 };

/// Whose tensor parallelism: where activations are split, gathered and kept. The last three are
/// Colossal-AI's over a grid of ranks (tensor_grid.hpp).
enum class TensorParallel : std::uint8_t {
  megatron,
  colossalai,
  dtensor,
  colossalai_2d,
  colossalai_2p5d,
  colossalai_3d
};

/// How attention sees the whole sequence under context parallelism (cp_comm_type): keys and values
/// go around a ring (p2p), or heads are exchanged for tokens (a2a, DeepSpeed-Ulysses);
/// by DeepSpeed's layer in the way of distributed_attention; or keys go around a ring, then values,
/// and scores are kept (Li et al. 2021, Colossal-AI).
enum class ContextParallel : std::uint8_t {
  ring,
  ulysses,
  distributed_attention,
  ring_self_attention
};

/// Order of forwards and backwards on a stage; naive: one micro-batch at a time.
enum class PipelineSchedule : std::uint8_t { naive, gpipe, one_f_one_b, interleaved };

/// What lives in host memory.
enum class Offload : std::uint8_t { none, optimizer, params, both, activations };

/// What carries collectives: NCCL, or PyTorch's stand-in for tests, which does nothing.
enum class CommBackend : std::uint8_t { nccl, fake };

}  // namespace highwater
