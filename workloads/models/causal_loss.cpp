#include "workloads/models/causal_loss.hpp"

#include <algorithm>
#include <bit>

#include "workloads/plan/training_plan.hpp"
#include "workloads/plan/version_profile.hpp"

namespace highwater::models {

Tensor slice_for_head(const Tensor& hidden_states) {
  const Tensor batch = eager::slice(hidden_states, 0, 0, eager::kEnd);
  const Tensor positions = eager::slice(batch, 1, 0, eager::kEnd);
  return eager::slice(positions, 2, 0, eager::kEnd);
}

namespace {

// With loss_parallel() the logits are DTensors, and so is what is made of them.
class DTensorLoss : eager::Scoped<bool> {
 public:
  explicit DTensorLoss(Runtime& runtime)
      : Scoped(runtime.dispatches_dtensors, runtime.parallel_cross_entropy != nullptr) {}
};

// logits[..., :-1, :].contiguous()
Tensor shifted_logits(const Tensor& logits) {
  return eager::contiguous(eager::slice(eager::slice(logits, -2, 0, -1), -1, 0, eager::kEnd));
}

Tensor shifted_labels(const Tensor& labels) {
  return eager::contiguous(eager::slice(labels, -1, 1, eager::kEnd));
}

Tensor rows(const Tensor& logits) {
  return eager::view(logits, {-1, logits.size(-1)});
}

Tensor flat(const Tensor& labels) {
  return eager::view(labels, {-1});
}

Tensor loss_of_shifted_logits(const Tensor& logits, const Tensor& labels) {
  Tensor shift_logits = shifted_logits(logits);
  Tensor shift_labels = shifted_labels(labels);
  shift_logits = rows(shift_logits);
  shift_labels = flat(shift_labels);
  Tensor loss = eager::cross_entropy(shift_logits, shift_labels);
  eager::end_of_frame(shift_logits, shift_labels);
  return loss;
}

// ForCausalLMLoss.
Tensor loss_function(Tensor logits, Tensor labels, LossShift shift) {
  logits = eager::to_dtype(logits, DType::fp32);
  if (shift == LossShift::none) {
    logits = rows(logits);
    labels = eager::to_device(flat(labels), logits->storage->device);
    Tensor loss = eager::cross_entropy(logits, labels);
    eager::end_of_frame(logits, labels);
    return loss;
  }
  if (shift == LossShift::logits) {
    Tensor shift_logits = shifted_logits(logits);
    Tensor shift_labels = shifted_labels(labels);
    shift_logits = rows(shift_logits);
    shift_labels = flat(shift_labels);
    Tensor loss = eager::cross_entropy(shift_logits, shift_labels);
    eager::end_of_frame(logits, labels, shift_logits, shift_labels);
    return loss;
  }
  labels = eager::constant_pad(labels, {0, 1});
  Tensor shift_labels = shifted_labels(labels);
  logits = rows(logits);
  shift_labels = eager::to_device(flat(shift_labels), logits->storage->device);
  Tensor loss = eager::cross_entropy(logits, shift_labels);
  eager::end_of_frame(logits, labels, shift_labels);
  return loss;
}

void logits_and_loss(Outputs& out, Tensor hidden_states, const nn::Linear& head,
                     const Tensor& labels) {
  const VersionProfile profile = version_profile(head.context().plan);
  const DType dtype = hidden_states.dtype();
  {
    Tensor raw = head(profile.slices_hidden_states ? slice_for_head(hidden_states) : hidden_states);
    out.logits = profile.upcast == LogitsUpcast::head ? eager::to_dtype(raw, DType::fp32) : raw;
  }
  head.runtime().categorize_transient(out.logits, Category::activation);
  if (!labels.defined()) {
    return;
  }
  head.runtime().mark_phase("loss");
  const DTensorLoss dispatch(head.runtime());
  if (profile.upcast == LogitsUpcast::around_loss) {
    out.logits = eager::to_dtype(out.logits, DType::fp32);
  }
  out.loss = profile.has_loss_function ? loss_function(out.logits, labels, profile.shift)
                                       : loss_of_shifted_logits(out.logits, labels);
  if (profile.upcast == LogitsUpcast::around_loss) {
    out.logits = eager::to_dtype(out.logits, dtype);
  }
  if (profile.casts_loss_back) {
    out.loss = eager::to_dtype(out.loss, dtype);
  }
}

std::int64_t divide_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

std::int64_t next_power_of_2(std::int64_t n) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(n)));
}

/// What the forward of the fused loss leaves: gradients are made there.
struct FusedLoss {
  Tensor loss;
  Tensor grad_input;
  Tensor grad_weight;
};

// One chunk of rows: its logits become their own gradient in place. `previous` is the name
// grad_logits_chunk, which keeps the chunk before alive while this one is made.
void fused_chunk(FusedLoss& fused, const Tensor& input_chunk, const Tensor& weight,
                 Tensor& logits_chunk, Tensor& grad_logits_chunk) {
  logits_chunk = eager::matmul(input_chunk, eager::t(weight));
  grad_logits_chunk = logits_chunk;
  eager::matmul(grad_logits_chunk, weight);  // copied into its rows of grad_input
  if (fused.grad_weight.defined()) {
    // addmm into grad_weight; with autocast the logits are cast to the input's type for it.
    eager::to_dtype(eager::t(logits_chunk), input_chunk.dtype());
  }
}

// fused_linear_cross_entropy_forward.
FusedLoss fused_forward(const Tensor& input, const Tensor& weight, const Tensor& target) {
  Runtime& runtime = input.runtime();
  const eager::OpScope op(runtime, "fused_linear_cross_entropy");
  const std::int64_t tokens = input.size(0);
  const std::int64_t width = input.size(1);
  const std::int64_t factor = divide_up(weight.size(0), width);
  const std::int64_t chunk_size = next_power_of_2(divide_up(tokens, factor));
  FusedLoss fused;
  if (weight.requires_grad()) {
    fused.grad_weight = eager::empty_like(weight);
  }
  fused.grad_input = eager::empty_like(input);
  Tensor row_losses = eager::empty(runtime, {tokens}, DType::fp32);
  Tensor target_mask = eager::compare("ne", {target});
  eager::sum(target_mask, {}, eager::KeepDim::no, DType::int64);
  Tensor logits_chunk;
  Tensor grad_logits_chunk;
  for (std::int64_t start = 0; start < tokens; start += chunk_size) {
    const Tensor chunk = eager::slice(input, 0, start, std::min(start + chunk_size, tokens));
    fused_chunk(fused, chunk, weight, logits_chunk, grad_logits_chunk);
  }
  fused.loss = eager::sum(row_losses, {}, eager::KeepDim::no);
  eager::end_of_frame(target_mask, logits_chunk, row_losses, grad_logits_chunk);
  return fused;
}

// torch.equal(grad_output, torch.tensor(1.0)); the gradients are scaled in place.
eager::TensorList fused_backward(eager::Node& node, eager::TensorList& grads) {
  Runtime& runtime = *node.runtime;
  const eager::OpScope op(runtime, "fused_linear_cross_entropy_backward");
  {
    const Tensor one = eager::empty(runtime, {}, DType::fp32);
    const Tensor same = eager::compare("eq", {grads[0], one});
    eager::reduce_plain("all", same, {}, eager::KeepDim::no, DType::boolean);
    runtime.synchronize();  // the host reads it
  }
  eager::TensorList result{eager::alias(node.unpack(0)), {}};
  if (node.saved.size() > 1) {
    result[1] = eager::alias(node.unpack(1));
  }
  return result;
}

// LigerFusedLinearCrossEntropyFunction.apply.
Tensor fused_linear_cross_entropy(const Tensor& input, const Tensor& weight, const Tensor& target) {
  Runtime& runtime = input.runtime();
  const auto node =
      eager::begin_node(runtime, "LigerFusedLinearCrossEntropyFunctionBackward", {input, weight});
  FusedLoss fused;
  {
    const eager::NoGrad no_grad(runtime);
    fused = fused_forward(input, weight, target);
  }
  eager::finish_node(node, fused.loss, fused_backward);
  if (node) {
    node->save(eager::alias(fused.grad_input));
    if (fused.grad_weight.defined()) {
      node->save(eager::alias(fused.grad_weight));
    }
  }
  return fused.loss;
}

// LigerForCausalLMLoss.
Tensor fused_loss(const Tensor& kept_hidden_states, const nn::Linear& head, Tensor labels) {
  labels = eager::constant_pad(labels, {0, 1});
  Tensor shift_labels = shifted_labels(labels);
  Tensor hidden_states = rows(kept_hidden_states);
  shift_labels = flat(shift_labels);
  Tensor loss = fused_linear_cross_entropy(hidden_states, head.weight, shift_labels);
  eager::end_of_frame(hidden_states, labels, shift_labels);
  return loss;
}

std::vector<Tensor> label_chunks(const Tensor& labels, std::int64_t count) {
  std::vector<Tensor> chunks;
  for (const auto& chunk : eager::chunk(labels, count, 1)) {
    chunks.push_back(eager::reshape(chunk, {-1}));
  }
  return chunks;
}

// CEWithChunkedOutputLoss.forward: one chunk at a time is made fp32.
Tensor sum_of_chunks(const std::vector<Tensor>& logit_chunks, const Tensor& all_labels) {
  Tensor total_elements;
  {
    const Tensor counted = eager::compare("ne", {all_labels});
    total_elements = eager::sum(counted, {}, eager::KeepDim::no, DType::int64);
  }
  const auto labels = label_chunks(all_labels, static_cast<std::int64_t>(logit_chunks.size()));
  Tensor total_loss;
  for (std::size_t i = 0; i < logit_chunks.size(); ++i) {
    Tensor loss = [&] {
      const Tensor logits = rows(logit_chunks[i]);
      return eager::cross_entropy(eager::to_dtype(logits, DType::fp32), labels[i]);
    }();
    total_loss = total_loss.defined() ? eager::add_(total_loss, loss) : eager::add(loss, 0.0);
  }
  return eager::div(total_loss, total_elements);
}

// trl 1.16, trainer/utils.py add_fused_lm_head: weight.full_tensor() of a DTensor.
Tensor whole_weight(const nn::Linear& head) {
  nn::ShardedUnit* const unit = head.sharded_unit();
  return unit == nullptr ? head.weight : unit->full_tensor(head.weight);
}

}  // namespace

void head_and_loss(Outputs& out, Tensor hidden_states, const nn::Linear& head,
                   const Tensor& labels) {
  const nn::ModelContext& context = head.context();
  if (context.plan.loss.kind == LossKind::fused && labels.defined() && context.training) {
    head.runtime().mark_phase("loss");
    const nn::InModule scope(head);
    out.loss = fused_loss(slice_for_head(hidden_states), head, labels);
  } else if (context.plan.loss.kind == LossKind::trl && labels.defined()) {
    head.runtime().mark_phase("loss");
    losses::FusedOutput fused =
        losses::fused_lm_head(std::move(hidden_states), labels, [&] { return whole_weight(head); });
    out.loss = std::move(fused.loss);
    out.scores = std::move(fused.scores);
  } else if (context.plan.loss.kind == LossKind::chunked) {
    out.logit_chunks = chunked_output(hidden_states, context.plan.loss.chunks,
                                      [&head](const Tensor& x) { return head(x); });
  } else {
    logits_and_loss(out, std::move(hidden_states), head, labels);
  }
}

void head_only(Outputs& out, Tensor hidden_states, const nn::Linear& head) {
  const Loss& loss = head.context().plan.loss;
  if (loss.kind == LossKind::chunked) {
    out.logit_chunks =
        chunked_output(hidden_states, loss.chunks, [&head](const Tensor& x) { return head(x); });
  } else {
    out.logits = head(std::move(hidden_states));
    head.runtime().categorize_transient(out.logits, Category::activation);
  }
}

Tensor outside_loss(Tensor logits, Tensor labels, LossKind kind) {
  if (kind == LossKind::shift) {
    logits = shifted_logits(logits);
    labels = shifted_labels(labels);
  }
  const DTensorLoss dispatch(logits.runtime());
  Tensor loss;
  {
    const Tensor wide = eager::to_dtype(logits, DType::fp32);
    loss = eager::cross_entropy(eager::flatten(wide, 0, 1), eager::flatten(labels, 0, 1));
  }
  eager::end_of_frame(logits, labels);
  return loss;
}

Tensor causal_lm_loss(Tensor logits, Tensor labels, const TrainingPlan& plan) {
  const VersionProfile profile = version_profile(plan);
  if (!profile.has_loss_function) {
    return outside_loss(std::move(logits), std::move(labels), LossKind::shift);
  }
  return loss_function(std::move(logits), std::move(labels), profile.shift);
}

std::vector<Tensor> chunked_output(const Tensor& hidden_states, std::int64_t chunks,
                                   const std::function<Tensor(const Tensor&)>& head) {
  std::vector<Tensor> outputs;
  for (const auto& chunk : eager::chunk(hidden_states, chunks, 1)) {
    outputs.push_back(head(chunk));
    hidden_states.runtime().categorize_transient(outputs.back(), Category::activation);
  }
  return outputs;
}

Tensor labels_of_next(const Tensor& labels, const Tensor& ignored) {
  return eager::cat(
      std::initializer_list<Tensor>{eager::slice(labels, -1, 1, eager::kEnd), ignored}, 1);
}

Tensor chunked_loss(std::vector<Tensor>& logit_chunks, const Tensor& labels) {
  Tensor loss = sum_of_chunks(logit_chunks, labels);
  eager::release_list(logit_chunks);
  return loss;
}

}  // namespace highwater::models
