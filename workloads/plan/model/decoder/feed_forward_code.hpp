// A decoder's feed-forward part: one network, or a mixture of experts behind a gate
// (modeling_NAME.py of transformers 5.23).
#pragma once

#include <cstdint>

namespace highwater {

enum class MlpKind : std::uint8_t {
  gated,        ///< down(act(gate(x)) * up(x))
  wide_gated,   ///< down((act(gate(x).float()) * up(x).float()).to(...)): Beam
  fused_gated,  ///< gate and up in one projection: Phi-3, GLM
  plain         ///< narrow(act(widen(x)))
};

struct MlpCode {
  MlpKind kind = MlpKind::gated;
  const char* widen_name = "up_proj";  ///< of a plain one
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

constexpr bool is_grouped(ExpertGateCode gate) {
  return gate == ExpertGateCode::grouped || gate == ExpertGateCode::grouped_late_scale;
}

/// The type of the buffer that a gate adds to its scores before it chooses.
enum class CorrectionType : std::uint8_t {
  of_model,
  fp32  ///< whatever the model's type: GLM-4 MoE
};

/// The order in which a mixture makes its parts.
enum class MixtureOrder : std::uint8_t {
  gate_experts_shared,
  experts_first,  ///< before the gate: Qwen3-MoE
  shared_early    ///< shared experts before the others, which they run before, too: AFMoE
};

struct MixtureCode {
  const char* name = "mlp";
  ExpertGateCode gate = ExpertGateCode::none;
  const char* gate_name = "gate";
  CorrectionType correction = CorrectionType::of_model;
  MixtureOrder order = MixtureOrder::gate_experts_shared;
};

}  // namespace highwater
