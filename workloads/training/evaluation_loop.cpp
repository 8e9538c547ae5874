#include "workloads/training/evaluation_loop.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "workloads/eager/autocast.hpp"
#include "workloads/plan/precision.hpp"
#include "workloads/strategy/converted_outputs.hpp"
#include "workloads/strategy/step_runner.hpp"
#include "workloads/training/batch_samples.hpp"

namespace highwater {
namespace {

using eager::Tensor;
using models::Inputs;
using models::Outputs;

/// The same run with the batches of its evaluation.
TrainingPlan evaluated(const TrainingPlan& plan) {
  TrainingPlan evaluated = plan;
  evaluated.batch = plan.evaluation.batch;
  evaluated.seq = {*std::ranges::max_element(plan.seq)};
  return evaluated;
}

// losses.repeat(batch_size) of a number.
Tensor repeated(const Tensor& loss, std::int64_t times) {
  const eager::OpScope op(loss.runtime(), "repeat");
  return eager::empty(loss.runtime(), {times}, loss.dtype());
}

}  // namespace

// nested_concat binds the name to the joined tensor while the new one lives on.
void GatheredTensors::add(const Tensor& tensor) {
  if (concatenates_ && !tensors_.empty()) {
    tensors_.front() = eager::cat(std::array{tensors_.front(), tensor}, 0);
  } else {
    tensors_.push_back(tensor);
  }
}

EvaluationLoop::EvaluationLoop(eager::Runtime& runtime, const TrainingPlan& plan,
                               models::LanguageModel& model)
    : runtime_(runtime), plan_(evaluated(plan)), model_(model), loader_(runtime, plan_) {}

void EvaluationLoop::run() {
  runtime_.mark_phase("evaluation");
  const eager::Scoped<bool> phase(runtime_.is_phase_held, true);  // of its batches and losses, too
  const eager::Scoped<bool> mode(model_.context().training, false);  // model.eval()
  if (runs_trainer(plan_.framework)) {
    run_trainers();
  } else {
    run_plain();
  }
}

void EvaluationLoop::run_trainers() {
  Variables all(evaluation());
  for (std::int64_t batch = 0; batch < evaluation().batches; ++batch) {
    load(batch, all.batch);
    all.last = predict(all.batch);
    gather(all);
    const auto& limit = evaluation().accumulation_steps;
    if (limit && (batch + 1) % *limit == 0) {
      move_to_host(all);
    }
  }
}

// The loader yields a batch when all of it is on the device; the name keeps the one before until
// then.
void EvaluationLoop::load(std::int64_t index, Inputs& batch) const {
  Inputs next;
  loader_.load(index, {}, next);
  std::swap(batch, next);
  eager::end_of_frame(next.input_ids, next.attention_mask, next.labels);
}

Outputs EvaluationLoop::forward(const Inputs& batch) {
  const eager::Scoped<std::optional<SdpaBackend>> backend(runtime_.sdpa_backend,
                                                          forced_backend(plan_.attention));
  const eager::NoGrad no_grad(runtime_);
  std::optional<eager::AutocastContext> autocast;
  if (runs_autocast(plan_)) {
    autocast.emplace(runtime_, compute_dtype(plan_.precision), eager::AutocastCache::enabled);
  }
  Outputs outputs = model_.forward(batch);
  autocast.reset();
  if (converts_outputs(plan_)) {
    convert_to_fp32(outputs);
  }
  return outputs;
}

EvaluationLoop::Predictions EvaluationLoop::predict(const Inputs& batch) {
  const Tensor label_count = count_labels(plan_, {batch});
  Inputs given = batch;
  if (plan_.loss.smoothing > 0) {
    given.labels.reset();
  }
  Outputs outputs = forward(given);
  if (plan_.loss.smoothing > 0) {
    const eager::NoGrad no_grad(runtime_);
    outputs.loss = smoothed_loss_of(plan_, outputs, batch.labels, label_count);
  }
  // loss.detach().mean()
  Tensor loss = eager::sum(eager::detach(outputs.loss), {}, eager::KeepDim::no);
  if (!gathers_logits()) {
    return {.loss = std::move(loss), .logits = {}, .encoder_states = {}, .labels = {}};
  }
  return {.loss = std::move(loss),
          .logits = std::move(outputs.logits),
          .encoder_states = std::move(outputs.encoder_states),
          .labels = eager::detach(batch.labels)};
}

void EvaluationLoop::gather(Variables& all) {
  all.last.loss = of_all_ranks(repeated(all.last.loss, plan_.batch));
  all.losses.add(all.last.loss);
  if (!gathers_logits()) {
    return;
  }
  pad_across_processes();  // the labels,
  pad_across_processes();  // and the logits
  if (evaluation().outputs == EvalOutputs::argmax) {
    const Tensor& logits = all.last.logits;
    all.last.logits = eager::reduce_plain("argmax", logits, {-1}, eager::KeepDim::no, DType::int64);
    all.last.encoder_states.reset();
  }
  all.last.logits = of_all_ranks(all.last.logits);
  all.predictions.add(all.last.logits);
  if (all.last.encoder_states.defined()) {
    all.last.encoder_states = of_all_ranks(all.last.encoder_states);
    all.encoder_states.add(all.last.encoder_states);
  }
  all.last.labels = of_all_ranks(all.last.labels);
  all.labels.add(all.last.labels);
}

// The sizes of a tensor are gathered on the device, whoever is alone there.
void EvaluationLoop::pad_across_processes() const {
  const Tensor own = eager::empty(runtime_, {1, 3}, DType::int64);
  const Tensor sizes = of_all_ranks(own);
}

// accelerate 1.15, utils/operations.py _gpu_gather_one.
Tensor EvaluationLoop::of_all_ranks(const Tensor& own) const {
  const std::int64_t ranks = data_group(plan_.parallel).ranks;
  if (ranks == 1) {
    return own;
  }
  const Tensor sent = eager::contiguous(own);
  const eager::OpScope op(runtime_, "gather", 0);
  eager::Dims sizes = sent.sizes();
  sizes[0] *= ranks;
  return eager::empty(runtime_, sizes, sent.dtype());
}

void EvaluationLoop::move_to_host(Variables& all) {
  all.losses.leave_device();
  all.predictions.leave_device();
  all.encoder_states.leave_device();
  all.labels.leave_device();
  all.last = {};
  runtime_.empty_cache();
}

// A function of the script with the names of the training loop: what this keeps, it keeps as well.
void EvaluationLoop::run_plain() {
  Inputs inputs;
  Outputs outputs;
  Tensor loss;
  for (std::int64_t batch = 0; batch < evaluation().batches; ++batch) {
    loader_.load(batch, {}, inputs);
    Outputs next = forward(inputs);
    loss = next.loss;
    outputs = plan_.keep_logits ? std::move(next) : Outputs{};
  }
}

}  // namespace highwater
