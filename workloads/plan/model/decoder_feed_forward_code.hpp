// The feed-forward part of a decoder of LLaMA's kind, and its mixture of experts.
#pragma once

#include <cstdint>

namespace highwater {

enum class MlpCode : std::uint8_t {
  gated,        ///< down(act(gate(x)) * up(x))
  wide_gated,   ///< down((act(gate(x).float()) * up(x).float()).to(...)): Beam
  fused_gated,  ///< gate and up in one projection: Phi-3, GLM
  plain         ///< narrow(act(widen(x)))
};

struct FeedForwardCode {
  MlpCode code = MlpCode::gated;
  const char* widen_name = "up_proj";  ///< of a plain feed-forward part
  const char* narrow_name = "down_proj";
};

/// How the gate of a mixture of experts chooses.
enum class ExpertGateCode : std::uint8_t {
  none,               ///< no mixture
  softmax,            ///< the best of all, perhaps made to sum to 1: Qwen2-MoE
  topk_first,         ///< a softmax of the best: Granite MoE
  best_scores,        ///< the best, then a softmax or a sigmoid of them: Cohere 2 MoE
  sigmoid,            ///< with a correction, made to sum to 1: MiniMax-M2
  scaled_sigmoid,     ///< the same, then multiplied by a number: AFMoE
  grouped,            ///< the best of the best groups: DeepSeek-V3
  grouped_late_scale  ///< the same, and the experts' sum is multiplied: Beam
};

/// The order in which a mixture makes its modules.
enum class MixtureOrder : std::uint8_t {
  gate_first,
  experts_first,
  shared_first  ///< shared experts before the others, which they run before, too
};

struct MixtureCode {
  const char* name = "mlp";
  ExpertGateCode gate = ExpertGateCode::none;
  const char* gate_name = "gate";
  MixtureOrder order = MixtureOrder::gate_first;
  bool has_wide_correction = false;  ///< the gate's buffer is fp32 whatever the model's type
};

}  // namespace highwater
