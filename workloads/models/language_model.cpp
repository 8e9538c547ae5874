#include "workloads/models/language_model.hpp"

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
  const auto& context = block.context();
  if (!is_checkpointed(context, index)) {
    return segment(arguments);
  }
  const auto& checkpoint = context.plan.checkpoint;
  if (checkpoint.reentrant) {
    return nn::checkpoint_reentrant(context.runtime, segment, std::move(arguments));
  }
  const auto keep = checkpoint.kind == CheckpointKind::selective_op ? nn::Keep::expensive_outputs
                                                                    : nn::Keep::nothing;
  return nn::checkpoint_nonreentrant(context.runtime, segment, std::move(arguments), keep);
}

}  // namespace highwater::models
