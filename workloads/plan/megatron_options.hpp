// Options of a Megatron-LM or NeMo job besides its parallel sizes, with the defaults of their
// argument parsers.
//
// Sources: Megatron-Core 0.16.1 (core/distributed/distributed_data_parallel_config.py,
// core/model_parallel_config.py), Megatron-LM's training/arguments.py, and NVIDIA Apex's
// contrib/optimizers/distributed_fused_adam.py for `Apex`.
#pragma once

#include <cstdint>
#include <optional>

#include "workloads/plan/checkpoint.hpp"

namespace highwater {

/// What a rank of a tensor-parallel group makes orthogonal of a matrix that the group shares
/// (--muon-tp-mode).
enum class MuonTp : std::uint8_t {
  blockwise,   ///< its own part, by itself
  duplicated,  ///< the whole, gathered
  distributed  ///< its own part, with Gram matrices summed over the ranks
};

/// Whose layers the model is made of (--transformer-impl).
enum class MegatronLayers : std::uint8_t {
  local,              ///< Megatron-Core's own
  transformer_engine  ///< NVIDIA's library, what Megatron-LM takes unless told otherwise
};

/// How Transformer Engine scales operands of products in 8 bits (--fp8-format with --fp8-recipe).
enum class Fp8Recipe : std::uint8_t {
  none,        ///< products in 16 bits
  delayed,     ///< DelayedScaling: one scale, of values seen before
  tensorwise,  ///< Float8CurrentScaling: one scale
  blockwise,   ///< Float8BlockScaling: a scale for 128 numbers
  mxfp8        ///< MXFP8BlockScaling: a scale for 32 numbers; Blackwell
};

/// The loss by which a router spreads tokens over its experts (--moe-router-load-balancing-type,
/// with a --moe-aux-loss-coeff above 0).
enum class MoeBalancing : std::uint8_t {
  none,
  aux_loss,     ///< of the micro-batch's tokens
  seq_aux_loss  ///< of each sequence
};

/// Options of Megatron-Core's DistributedDataParallel, layers and Muon.
struct Megatron {
  MegatronLayers layers = MegatronLayers::local;  ///< --transformer-impl
  /// --cross-entropy-loss-fusion with --cross-entropy-fusion-impl te.
  bool te_cross_entropy = false;
  Fp8Recipe fp8 = Fp8Recipe::none;    ///< --fp8-format, --fp8-recipe
  bool overlap_grad_reduce = false;   ///< --overlap-grad-reduce
  bool overlap_param_gather = false;  ///< --overlap-param-gather
  /// --accumulate-allreduce-grads-in-fp32, which bf16 switches on (arguments.py: validate_args).
  bool fp32_grads = true;
  /// Elements of a bucket (--ddp-bucket-size); absent: max(40e6, 1e6 dp), one bucket if gradients
  /// are reduced after the backward.
  std::optional<std::int64_t> bucket_size;
  /// --no-gradient-accumulation-fusion switches it off: weight gradients as blocks of their own.
  bool wgrad_fusion = true;
  /// --no-rope-fusion, and Megatron-Core alone, compose the rotary embedding of operators.
  bool rope_fusion = true;
  std::int64_t vocab_divisor = 128;  ///< --make-vocab-size-divisible-by
  /// --moe-expert-capacity-factor with --moe-pad-expert-input-to-capacity; absent: dropless.
  std::optional<double> moe_capacity_factor;
  bool moe_grouped_gemm = true;    ///< --moe-grouped-gemm; of Transformer Engine's layers alone
  bool moe_permute_fusion = true;  ///< --moe-permute-fusion; of these as well
  bool moe_router_fp32 = true;     ///< --moe-router-dtype fp32; of these as well
  MoeBalancing moe_balancing = MoeBalancing::none;
  /// --recompute-modules, with --recompute-granularity selective.
  RecomputeModules recompute_modules = kCoreAttention;
  MuonTp muon_tp = MuonTp::duplicated;  ///< --muon-tp-mode (of Megatron-LM, August 2026)
  bool muon_split_qkv = true;           ///< --muon-no-split-qkv switches it off
  bool muon_nesterov = false;           ///< --muon-nesterov

  bool operator==(const Megatron&) const = default;
};

/// Options of Apex's DistributedFusedAdam as NeMo sets them.
struct Apex {
  double bucket_cap_mb = 100;     ///< MiB of a bucket's gradients (bucket_cap_mb=100)
  bool store_remainders = true;   ///< 16 bits instead of fp32 copies of bf16 parameters
  bool contiguous_grads = false;  ///< contiguous_grad_buffer

  bool operator==(const Apex&) const = default;
};

}  // namespace highwater
