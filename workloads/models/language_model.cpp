#include "workloads/models/language_model.hpp"

#include "workloads/plan/torchtitan_release.hpp"

namespace highwater::models {

namespace {

bool is_checkpointed(const nn::ModelContext& context, std::size_t index) {
  const auto& checkpoint = context.plan.checkpoint;
  if (!context.training) {
    return false;
  }
  const auto n = static_cast<std::size_t>(checkpoint.n);
  switch (checkpoint.kind) {
    case CheckpointKind::full:
    case CheckpointKind::selective_op:
      return true;
    case CheckpointKind::every_n:
      return index % n == n - 1;
    case CheckpointKind::none:
    case CheckpointKind::selective_attention:
      return false;
  }
  return false;
}

nn::Keep kept_by(const TrainingPlan& plan) {
  if (plan.checkpoint.kind != CheckpointKind::selective_op) {
    return nn::Keep::nothing;
  }
  return plan.model_code == ModelCode::torchtitan ? nn::Keep::torchtitan_outputs
                                                  : nn::Keep::expensive_outputs;
}

// torchtitan 0.3, distributed/activation_checkpoint.py: early_stop=False.
nn::RecomputeEnd end_of_recomputation(const TrainingPlan& plan) {
  return is_recent_torchtitan(plan) ? nn::RecomputeEnd::segment : nn::RecomputeEnd::last_saved;
}

eager::TensorList run_checkpointed(const nn::ModelContext& context, std::size_t index,
                                   const nn::TupleSegment& segment, std::vector<Tensor> arguments) {
  if (!is_checkpointed(context, index)) {
    return segment(arguments);
  }
  const auto& checkpoint = context.plan.checkpoint;
  if (checkpoint.reentrant) {
    return nn::checkpoint_reentrant(context.runtime, segment, std::move(arguments));
  }
  return nn::checkpoint_nonreentrant(context.runtime, segment, std::move(arguments),
                                     kept_by(context.plan), end_of_recomputation(context.plan));
}

eager::TensorList run_unwrapped(const Module& block, std::size_t index,
                                const nn::TupleSegment& segment, std::vector<Tensor> arguments) {
  const auto& context = block.context();
  // transformers checkpoints a block's __call__, hooks and all; others what its forward contains.
  if (context.plan.model_code == ModelCode::hf) {
    const auto call = [&block, segment](const std::vector<Tensor>& in) {
      return block.call_with(in, segment);
    };
    return run_checkpointed(context, index, call, std::move(arguments));
  }
  return block.call_with(arguments, [&](const std::vector<Tensor>& in) {
    return run_checkpointed(context, index, segment, in);
  });
}

}  // namespace

Tensor run_block(const Module& block, std::size_t index, const nn::Segment& segment,
                 std::vector<Tensor> arguments) {
  const auto as_tuple = [segment](const std::vector<Tensor>& in) {
    return eager::TensorList{segment(in)};
  };
  return run_tuple_block(block, index, as_tuple, std::move(arguments))[0];
}

eager::TensorList run_tuple_block(const Module& block, std::size_t index,
                                  const nn::TupleSegment& segment, std::vector<Tensor> arguments) {
  if (!block.is_wrapped()) {
    return run_unwrapped(block, index, segment, std::move(arguments));
  }
  return block.call_wrapped(arguments, [&](std::vector<Tensor> in) {
    return run_unwrapped(block, index, segment, std::move(in));
  });
}

}  // namespace highwater::models
