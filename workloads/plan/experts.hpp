// How a mixture's experts run.
#pragma once

#include <cstdint>

namespace highwater {

/// How a mixture's experts run. Which tokens they get depends on data; how many is MoeLoad's.
enum class Experts : std::uint8_t {
  eager,       ///< transformers' loop over experts
  even,        ///< the recordings' loop with equal shares
  batched_mm,  ///< weights gathered per token
  grouped_mm,  ///< one grouped product over tokens sorted by expert: transformers' own choice
  deepspeed    ///< deepspeed.moe.layer.MoE in the place of transformers' block
};

/// MoE(noisy_gate_policy=...) of DeepSpeed: Gumbel noise on the logits, or a factor on the inputs.
enum class GateNoise : std::uint8_t { none, rsample, jitter };

/// Further arguments of deepspeed.moe.layer.MoE.
struct DeepspeedMoe {
  GateNoise noise = GateNoise::none;
  bool use_residual = false;  ///< an MLP for every token beside the experts
};

}  // namespace highwater
