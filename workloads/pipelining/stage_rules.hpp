// What torch.distributed.pipelining's stages keep, by release (stage.py, _backward.py,
// schedules.py).
#pragma once

#include <cstdint>

#include "traces/release.hpp"

namespace highwater::pipelining {

/// What runs before the first micro-batch, to learn the shapes that stages hand on.
enum class ShapeInference : std::uint8_t {
  forward,              ///< without gradients: _shape_inference
  forward_and_backward  ///< _forward_metadata_inference, _backward_metadata_inference
};

/// Buffers for inputs and for gradients of outputs.
enum class ReceiveBuffers : std::uint8_t {
  kept,        ///< of all micro-batches, made once
  when_needed  ///< _RecvInfo.allocate_buffer, dropped with the micro-batch
};

/// Outputs of a stage that is not the last.
enum class SentOutputs : std::uint8_t { until_next_step, until_backward, until_sent };

/// Gradients of inputs.
enum class SentGradients : std::uint8_t {
  until_next_step,
  until_next_sends  ///< stage_backward() takes them out of `.grad`
};

struct StageRules {
  ShapeInference shapes = ShapeInference::forward;
  ReceiveBuffers buffers = ReceiveBuffers::kept;
  SentOutputs outputs = SentOutputs::until_next_step;
  SentGradients gradients = SentGradients::until_next_step;
};

/// 2.8: output_chunks of the last stage alone. 2.10: `val.grad = None` in stage_backward. 2.12:
/// metadata inference. 2.15: allocate_buffer, release_fwd_send_outputs.
inline StageRules stage_rules(Release torch) {
  return {.shapes = torch < Release{2, 12} ? ShapeInference::forward
                                           : ShapeInference::forward_and_backward,
          .buffers = torch < Release{2, 15} ? ReceiveBuffers::kept : ReceiveBuffers::when_needed,
          .outputs = torch < Release{2, 8}    ? SentOutputs::until_next_step
                     : torch < Release{2, 15} ? SentOutputs::until_backward
                                              : SentOutputs::until_sent,
          .gradients = torch < Release{2, 10} ? SentGradients::until_next_step
                                              : SentGradients::until_next_sends};
}

}  // namespace highwater::pipelining
