#include "workloads/models/language_model.hpp"

#include "workloads/plan/pipeline/model_split.hpp"
#include "workloads/plan/torchtitan_release.hpp"
#include "workloads/plan/training_plan.hpp"

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

// accelerate, hooks.py new_forward: its frame holds what pre_forward has sent until the block ends.
eager::TensorList run_on_own_device(const Module& block, const NamedTupleSegment& forward,
                                    const std::vector<Tensor>& in, const Keywords& keywords) {
  std::vector<Tensor> own;
  for (const Tensor& argument : in) {
    own.push_back(eager::to_device(argument, block.device()));
  }
  const Keywords own_keywords = keywords.on(block.device());
  eager::TensorList result = forward(own, own_keywords);
  eager::release_list(own);
  return result;
}

// A block's __call__: its hooks around `forward`.
eager::TensorList call_block(const Module& block, const NamedTupleSegment& forward,
                             const std::vector<Tensor>& arguments, const Keywords& keywords) {
  const bool is_spread = pipelining::is_naive(block.context().plan.parallel);
  return block.call_with(arguments, [&](const std::vector<Tensor>& in) {
    return is_spread ? run_on_own_device(block, forward, in, keywords) : forward(in, keywords);
  });
}

// GradientCheckpointingLayer of transformers (modeling_layers.py) checkpoints a block's __call__,
// hooks and all, and since 5.23 its forward, as others do.
bool checkpoints_calls(const nn::ModelContext& context) {
  return context.plan.model_code == ModelCode::hf && context.runtime.transformers < Release{5, 23};
}

eager::TensorList run_unwrapped(const Module& block, std::size_t index,
                                const NamedTupleSegment& segment, std::vector<Tensor> arguments,
                                const Keywords& keywords) {
  const auto& context = block.context();
  if (checkpoints_calls(context)) {
    const auto call = [&block, segment, keywords](const std::vector<Tensor>& in) {
      return call_block(block, segment, in, keywords);
    };
    return run_checkpointed(context, index, call, std::move(arguments));
  }
  const auto checkpointed = [&](const std::vector<Tensor>& in, const Keywords& named) {
    const auto forward = [segment, named](const std::vector<Tensor>& own) {
      return segment(own, named);
    };
    return run_checkpointed(context, index, forward, in);
  };
  return call_block(block, checkpointed, arguments, keywords);
}

}  // namespace

Keywords Keywords::on(eager::DeviceIndex device) const {
  Keywords result(*this);
  for (eager::TensorList& value : result.values_) {
    for (Tensor& tensor : value) {
      tensor = eager::to_device(tensor, device);
    }
  }
  return result;
}

Tensor run_block(const Module& block, std::size_t index, const nn::Segment& segment,
                 std::vector<Tensor> arguments) {
  const auto as_tuple = [segment](const std::vector<Tensor>& in) {
    return eager::TensorList{segment(in)};
  };
  return run_tuple_block(block, index, as_tuple, std::move(arguments))[0];
}

Tensor run_block(const Module& block, std::size_t index, const NamedSegment& segment,
                 std::vector<Tensor> arguments, const Keywords& keywords) {
  const auto as_tuple = [segment](const std::vector<Tensor>& in, const Keywords& named) {
    return eager::TensorList{segment(in, named)};
  };
  return run_tuple_block(block, index, as_tuple, std::move(arguments), keywords)[0];
}

eager::TensorList run_tuple_block(const Module& block, std::size_t index,
                                  const nn::TupleSegment& segment, std::vector<Tensor> arguments) {
  const auto unnamed = [segment](const std::vector<Tensor>& in, const Keywords& /*none*/) {
    return segment(in);
  };
  return run_tuple_block(block, index, unnamed, std::move(arguments), {});
}

eager::TensorList run_tuple_block(const Module& block, std::size_t index,
                                  const NamedTupleSegment& segment, std::vector<Tensor> arguments,
                                  const Keywords& keywords) {
  if (!block.is_wrapped()) {
    return run_unwrapped(block, index, segment, std::move(arguments), keywords);
  }
  return block.call_wrapped(arguments, [&](std::vector<Tensor> in) {
    return run_unwrapped(block, index, segment, std::move(in), keywords);
  });
}

}  // namespace highwater::models
