// Activation checkpointing: which blocks, or which of their parts, run again in the backward pass.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace highwater {

enum class CheckpointKind : std::uint8_t {
  none,
  full,                ///< every block
  every_n,             ///< block i where i mod n = n-1
  selective_op,        ///< per operator: outputs of matmuls and attention are kept
  selective_attention  ///< only the core attention is recomputed; Megatron's "selective", which can
                       ///< name other parts of a layer (Megatron::recompute_modules)
};

struct Checkpoint {
  CheckpointKind kind = CheckpointKind::none;
  int n = 1;               ///< of every_n
  bool reentrant = false;  ///< use_reentrant=True
};

/// The parts of a layer that Megatron's selective checkpointing recomputes (--recompute-modules).
/// Source: Megatron-Core 0.16.1, core/transformer/transformer_config.py (recompute_modules).
enum class RecomputeModule : std::uint8_t {
  core_attention,
  moe_activation,      ///< of grouped experts
  layernorm,           ///< norms that are no part of the layer behind them
  latent_projections,  ///< to queries, keys and values, with their rotary embedding
  mlp,                 ///< of layers without experts
  moe,                 ///< the whole mixture, its router included
  shared_experts
};

/// A set of them.
class RecomputeModules {
 public:
  constexpr RecomputeModules() = default;

  constexpr RecomputeModules(std::initializer_list<RecomputeModule> modules) {
    for (const RecomputeModule module : modules) {
      insert(module);
    }
  }

  constexpr void insert(RecomputeModule module) { bits_ |= bit_of(module); }

  [[nodiscard]] constexpr bool contains(RecomputeModule module) const {
    return (bits_ & bit_of(module)) != 0;
  }

  constexpr bool operator==(const RecomputeModules&) const = default;

 private:
  static constexpr unsigned bit_of(RecomputeModule module) {
    return 1U << static_cast<unsigned>(module);
  }

  unsigned bits_ = 0;
};

/// What Megatron recomputes unless told otherwise.
inline constexpr RecomputeModules kCoreAttention{RecomputeModule::core_attention};

}  // namespace highwater
