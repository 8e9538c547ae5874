// What few relatives' attention has beside LLaMA's: gates of the output (AFMoE, Beam), sinks
// (Granite SWA, MiMo-V2), queries scaled by their positions (Beam).
#include <utility>

#include "workloads/models/decoders/self_attention.hpp"

namespace highwater::models {

void SelfAttention::make_gate() {
  if (code_.gate != AttentionGate::none) {
    gate_proj_ =
        std::make_unique<nn::Linear>(this, "gate_proj", config_.hidden_size,
                                     config_.num_attention_heads * head_dim_, nn::Bias::none);
  }
  if (code_.gate == AttentionGate::biased) {
    const nn::InModule scope(*this);
    gate_bias_ = make_parameter("gate_bias", {config_.num_attention_heads});
  }
  if (has_sinks_) {
    const nn::InModule scope(*this);
    sinks_ = make_parameter("sinks", {config_.num_attention_heads});
  }
}

// The output behind its gate, which is a variable of the frame.
Tensor SelfAttention::opened(HeadStates& states, const Tensor& output, const Tensor& input) const {
  if (gate_bias_.defined()) {
    Tensor gate = eager::view((*gate_proj_)(input), output.sizes());
    const Tensor bias = eager::view(gate_bias_, {1, 1, -1, 1});
    states.gate = eager::add(gate, bias);
  }
  Tensor share = eager::sigmoid(states.gate);
  Tensor result = eager::mul(output, share);
  share.reset();
  return result;
}

// In fp32, by the positions: Beam.
void SelfAttention::scale_queries(HeadStates& states, const Tensor& scale) {
  Tensor wide = eager::to_dtype(states.query, DType::fp32);
  Tensor scaled = eager::mul(wide, scale);
  wide.reset();
  Tensor narrow = eager::to_dtype(scaled, states.query.dtype());
  scaled.reset();
  states.query = std::move(narrow);
}

}  // namespace highwater::models
