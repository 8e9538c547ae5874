#include "workloads/models/classification.hpp"

#include "workloads/plan/training_plan.hpp"

namespace highwater::models {
namespace {

/// (token_indices * (input_ids != pad_token_id).to(torch.int32)).argmax(-1), and what stays with
/// it.
struct LastTokens {
  Tensor non_pad_mask;
  Tensor token_indices;
  Tensor last_non_pad_token;
};

LastTokens last_tokens(const Tensor& input_ids, eager::DeviceIndex device) {
  LastTokens found;
  {
    const Tensor differs = eager::to_device(eager::compare("ne", {input_ids}), device);
    found.non_pad_mask = eager::to_dtype(differs, DType::int32);
  }
  found.token_indices = eager::arange(input_ids.runtime(), input_ids.size(1), DType::int32);
  const Tensor places = eager::mul(found.token_indices, found.non_pad_mask);
  found.last_non_pad_token =
      eager::reduce_plain("argmax", places, {-1}, eager::KeepDim::no, DType::int64);
  return found;
}

Tensor chosen(const Tensor& logits, const Tensor& last) {
  const Tensor rows = eager::arange(logits.runtime(), logits.size(0));
  return eager::index(logits, rows, last);
}

}  // namespace

int label_count(const TrainingPlan& plan) {
  return plan.model.labels;
}

void classify(Outputs& out, Tensor hidden_states, const nn::Linear& score, const Inputs& inputs) {
  Runtime& runtime = score.runtime();
  Tensor logits = score(hidden_states);
  const eager::OnDevice place(runtime, logits);
  LastTokens tokens = last_tokens(inputs.input_ids, runtime.device);
  out.logits = chosen(logits, tokens.last_non_pad_token);
  if (inputs.labels.defined()) {
    runtime.mark_phase("loss");
    out.loss = classification_loss(out.logits, inputs.labels);
  }
  eager::end_of_frame(hidden_states, logits, tokens.non_pad_mask, tokens.token_indices,
                      tokens.last_non_pad_token);
}

Tensor classification_loss(const Tensor& scores, const Tensor& labels) {
  const Tensor there = eager::to_device(labels, scores->storage->device);
  return eager::cross_entropy(eager::view(scores, {-1, scores.size(-1)}), eager::view(there, {-1}));
}

}  // namespace highwater::models
