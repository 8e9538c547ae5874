// Activation checkpointing: which blocks run again in the backward pass.
#pragma once

#include <cstdint>

namespace highwater {

enum class CheckpointKind : std::uint8_t {
  none,
  full,                ///< every block
  every_n,             ///< block i where i mod n = n-1
  selective_op,        ///< per operator: outputs of matmuls and attention are kept
  selective_attention  ///< only the core attention is recomputed (Megatron's "selective")
};

struct Checkpoint {
  CheckpointKind kind = CheckpointKind::none;
  int n = 1;               ///< of every_n
  bool reentrant = false;  ///< use_reentrant=True
};

}  // namespace highwater
