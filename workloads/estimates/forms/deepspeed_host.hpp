// Smaller rules of DeepSpeed's documentation about host memory and checkpoint files.
#pragma once

namespace highwater {

/// Pinned host memory of ZeRO-3 in bytes, a part of the estimator's host figure: with parameters
/// offloaded 2 P of fp16 weights and 4 P of fp32 gradients, and 2 P more if gradients accumulate
/// over micro-batches; without, 4 P. Source: documentation, "Memory Requirements", pinned memory.
double deepspeed_pinned_host(double parameters, bool offload_param, bool accumulates);

/// Parameters in a checkpoint file of `file_bytes` that holds fp32 weights. Source: documentation,
/// "Memory Requirements", approximations for t5-11b.
double deepspeed_checkpoint_parameters(double file_bytes);

}  // namespace highwater
