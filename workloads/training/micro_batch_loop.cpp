#include "workloads/training/micro_batch_loop.hpp"

#include <array>
#include <utility>
#include <variant>

#include "workloads/colossalai/layers/gpt.hpp"
#include "workloads/models/causal_loss.hpp"
#include "workloads/nn/backward_pass.hpp"
#include "workloads/nn/save_on_cpu.hpp"
#include "workloads/plan/context_parallel.hpp"
#include "workloads/plan/offload.hpp"
#include "workloads/plan/precision.hpp"
#include "workloads/plan/tensor_grid.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/plan/version_profile.hpp"
#include "workloads/strategy/converted_outputs.hpp"

namespace highwater {
namespace {

using eager::Tensor;
using models::Inputs;
using models::Outputs;

// torchtitan's decoders give logits only; the script computes the loss.
bool model_takes_labels(const TrainingPlan& plan) {
  return plan.model_code == ModelCode::megatron ||
         (plan.model_code == ModelCode::hf && !plan.model.config.family().traits.torchtitan_style);
}

// lightning 2.6, plugins/precision/amp.py autocast_context_manager: cache_enabled=False.
eager::AutocastCache autocast_cache(Framework framework) {
  return framework == Framework::lightning ? eager::AutocastCache::disabled
                                           : eager::AutocastCache::enabled;
}

bool has_decoder_alone(const ModelSpec& model) {
  return family_name(model) != "bert" && !has_field(model.config, FieldRole::decoder_layers);
}

bool is_inside_model(LossKind kind) {
  return kind == LossKind::hf || fuses_head(kind);
}

}  // namespace

MicroBatchLoop::MicroBatchLoop(eager::Runtime& runtime, const TrainingPlan& plan,
                               Strategy& strategy)
    : runtime_(runtime), plan_(plan), strategy_(strategy), loader_(runtime, plan) {
  if (plan_.loss.kind == LossKind::chunked) {
    ignored_labels_ = loader_.tensor(1);
  }
  if (runs_trainer(plan_.framework)) {
    logged_loss_ = eager::empty(runtime_, {}, DType::fp32);
  }
  if (runs_trainer(plan_.framework) || plan_.loss.kind == LossKind::trl) {
    samples_.emplace(runtime_, plan_);
  }
  if (runs_context_parallel(plan_)) {
    attention_.emplace(runtime_, plan_.parallel.cp, rank_place(plan_.parallel).cp,
                       plan_.parallel.backend);
  }
}

void MicroBatchLoop::run(int step) {
  const std::int64_t first = std::int64_t{step} * plan_.grad_accum;
  if (samples_) {
    samples_->fetch(first);
  }
  for (int micro = 0; micro < plan_.grad_accum; ++micro) {
    micro_batch(first + micro);
  }
}

void MicroBatchLoop::share_sequences() {
  if (attention_) {
    const std::array buffers{&batch_.input_ids, &batch_.labels, &batch_.positions};
    context_.emplace(*attention_, plan_.parallel.cp, buffers);
  }
}

void MicroBatchLoop::micro_batch(std::int64_t index) {
  context_.reset();
  if (samples_) {
    batch_ = samples_->at(index);
  } else {
    loader_.load(index, {}, batch_);
  }
  share_sequences();
  const bool is_last = (index + 1) % plan_.grad_accum == 0;
  strategy_.set_gradient_sync(sync_if(is_last || !plan_.parallel.no_sync));
  runtime_.mark_phase("forward");
  compute_loss();
  if (!plan_.training) {
    return;
  }
  if (plan_.zero_grad_at == ZeroGradAt::backward && index % plan_.grad_accum == 0) {
    runtime_.mark_phase("zero_grad");
    strategy_.zero_grad();
  }
  if (plan_.framework == Framework::hf) {
    divide_loss();  // loss = outputs.loss / N, before anything else
  }
  runtime_.mark_phase("backward");
  backward();
  if (plan_.framework == Framework::hf) {
    context_.reset();  // a script leaves it before the optimizer's step, accelerate's example after
  }
  if (runs_trainer(plan_.framework)) {
    // transformers 5.23, trainer.py: training_step returns loss.detach(), so the graph goes; what
    // the micro-batch before returned is tr_loss_step until then
    step_loss_ = eager::detach(loss_);
    loss_.reset();
  }
}

// transformers since 4.46, trainer.py compute_loss and loss/loss_utils.py fixed_cross_entropy: a
// class whose loss is loss_function() is told num_items_in_batch and divides the sum by it, where
// other losses are divided by the number of micro-batches.
bool MicroBatchLoop::divides_by_labels() const {
  return runs_trainer(plan_.framework) && plan_.loss.kind == LossKind::hf && samples_ &&
         has_decoder_alone(plan_.model) && version_profile(plan_).has_loss_function &&
         runtime_.transformers >= Release{4, 46};
}

void MicroBatchLoop::divide_loss() {
  if (divides_by_labels()) {
    return;
  }
  if (plan_.grad_accum > 1 && !strategy_.divides_loss()) {
    loss_ = eager::div(loss_, static_cast<double>(plan_.grad_accum));
  }
}

void MicroBatchLoop::backward() {
  if (plan_.framework != Framework::hf && !loops_around_accelerator(plan_.framework)) {
    divide_loss();
  }
  if (runs_accelerate(plan_.framework) && !strategy_.divides_loss()) {
    // accelerate 1.1 to 1.15, accelerator.py backward: divided by 1 as well, into a variable of its
    // own; Trainer's accelerator does not know of its micro-batches
    Tensor loss = eager::div(loss_, static_cast<double>(plan_.grad_accum));
    strategy_.backward(loss);
    return;
  }
  strategy_.backward(loss_);
}

// autocast, no_grad and sdpa_kernel() surround forward and loss, not backward.
void MicroBatchLoop::compute_loss() {
  const eager::Scoped<std::optional<SdpaBackend>> backend(runtime_.sdpa_backend,
                                                          forced_backend(plan_.attention));
  std::optional<eager::AutocastContext> autocast;
  std::optional<eager::NoGrad> no_grad;
  if (!plan_.training) {
    no_grad.emplace(runtime_);
  }
  if (runs_autocast(plan_)) {
    autocast.emplace(runtime_, compute_dtype(plan_.precision), autocast_cache(plan_.framework));
  }
  std::optional<nn::SaveOnCpu> save_on_cpu;
  if (saves_on_cpu(plan_.parallel)) {
    save_on_cpu.emplace(runtime_);
  }
  if (splits_over_grid(plan_.parallel)) {
    loss_of_grid();
  } else if (plan_.loss.smoothing > 0) {
    loss_of_smoothed_labels(autocast);
  } else if (is_inside_model(plan_.loss.kind) && model_takes_labels(plan_)) {
    loss_inside_model(autocast);
  } else if (plan_.loss.kind == LossKind::chunked) {
    loss_of_chunks();
  } else {
    loss_outside_model();
  }
}

void MicroBatchLoop::loss_inside_model(std::optional<eager::AutocastContext>& autocast) {
  Outputs outputs = strategy_.forward(batch_);
  if (divides_by_labels()) {
    outputs.loss = eager::div(outputs.loss, samples_->label_count());
  }
  if (converts_outputs(plan_)) {
    autocast.reset();
    convert_to_fp32(outputs);
  }
  if (plan_.keep_logits) {
    outputs_ = std::move(outputs);
    loss_ = outputs_.loss;
    return;
  }
  Tensor loss = plan_.loss.kind == LossKind::trl
                    ? losses::sft_loss(outputs.scores, samples_->label_count())
                    : outputs.loss;
  outputs = {};
  loss_ = std::move(loss);
}

// compute_loss takes the labels out of what the model is given.
void MicroBatchLoop::loss_of_smoothed_labels(std::optional<eager::AutocastContext>& autocast) {
  Inputs inputs = batch_;
  inputs.labels.reset();
  Outputs outputs = strategy_.forward(std::move(inputs));
  if (converts_outputs(plan_)) {
    autocast.reset();
    convert_to_fp32(outputs);
  }
  runtime_.mark_phase("loss");
  loss_ = smoothed_loss_of(plan_, outputs, batch_.labels, samples_->label_count());
}

void MicroBatchLoop::loss_outside_model() {
  Inputs inputs = batch_;
  inputs.labels.reset();
  Tensor logits = strategy_.forward(std::move(inputs)).logits;
  outputs_.logits = std::move(logits);
  runtime_.mark_phase("loss");
  loss_ = models::outside_loss(outputs_.logits, batch_.labels, plan_.loss.kind);
  if (!plan_.keep_logits) {
    outputs_.logits.reset();
  }
}

void MicroBatchLoop::loss_of_grid() {
  Tensor logits = strategy_.forward(batch_).logits;
  outputs_.logits = std::move(logits);
  runtime_.mark_phase("loss");
  loss_ = colossalai::shifted_loss(outputs_.logits, batch_.labels);
  if (!plan_.keep_logits) {
    outputs_.logits.reset();
  }
}

void MicroBatchLoop::loss_of_chunks() {
  Inputs inputs = batch_;
  inputs.labels.reset();
  auto chunks = strategy_.forward(std::move(inputs)).logit_chunks;
  runtime_.mark_phase("loss");
  const Tensor labels = models::labels_of_next(batch_.labels, ignored_labels_);
  loss_ = models::chunked_loss(chunks, labels);
}

}  // namespace highwater
