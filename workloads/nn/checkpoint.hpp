// Activation checkpointing (torch/utils/checkpoint.py of PyTorch 2.6).
#pragma once

#include <functional>
#include <vector>

#include "workloads/nn/module.hpp"

namespace highwater::nn {

/// A part of a model: positional tensor arguments in, one tensor out.
using Segment = std::function<Tensor(const std::vector<Tensor>&)>;

/// The same for blocks that return a tuple.
using TupleSegment = std::function<TensorList(const std::vector<Tensor>&)>;

/// What a nonreentrant checkpoint keeps besides its arguments (context_fn).
enum class Keep : std::uint8_t {
  nothing,
  expensive_outputs,  ///< create_selective_checkpoint_contexts; eager/output_cache.hpp has the list
  torchtitan_outputs  ///< the same, but every second mm only
};

/// When a recomputation ends (early_stop): after the last tensor that is saved, or with the
/// segment.
enum class RecomputeEnd : std::uint8_t { last_saved, segment };

/// checkpoint(segment, *arguments, use_reentrant=False): saved tensors of the segment are replaced
/// by place holders and rebuilt by one recomputation when the first of them is needed; the
/// recomputation stops after the last one.
TensorList checkpoint_nonreentrant(Runtime& runtime, const TupleSegment& segment,
                                   std::vector<Tensor> arguments, Keep keep = Keep::nothing,
                                   RecomputeEnd end = RecomputeEnd::last_saved);

/// checkpoint(segment, *arguments, use_reentrant=True): the segment runs without gradients; its
/// whole forward runs again in backward, followed by a nested backward(). Unused results get
/// gradients of zeros.
TensorList checkpoint_reentrant(Runtime& runtime, const TupleSegment& segment,
                                std::vector<Tensor> arguments);

}  // namespace highwater::nn
