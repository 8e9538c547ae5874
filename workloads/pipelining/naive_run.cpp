#include "workloads/pipelining/naive_run.hpp"

#include <array>
#include <utility>

#include "workloads/models/causal_loss.hpp"
#include "workloads/nn/device_copies.hpp"

namespace highwater::pipelining {

using eager::Tensor;
using models::Outputs;

NaiveRun::NaiveRun(eager::Runtime& runtime, const TrainingPlan& plan, Strategy& strategy)
    : runtime_(runtime),
      plan_(plan),
      strategy_(strategy),
      device_(rank_place(plan.parallel).pp),
      is_tied_(shape_of(plan.model).tied) {}

void NaiveRun::run(int /*step*/) {
  for (int i = 0; i < plan_.grad_accum; ++i) {
    micro_batch();
  }
}

void NaiveRun::micro_batch() {
  if (device_ == 0) {
    load_batch();
    first_device();
  } else if (device_ + 1 < plan_.parallel.pp || is_tied_) {
    const Tensor hidden_states = forward().hidden_states;
    runtime_.mark_phase("backward");
    eager::backward(hidden_states, boundary());
  } else {
    last_device();
  }
}

void NaiveRun::load_batch() {
  runtime_.mark_phase("data");
  tokens_ = batch_tensor();
  labels_ = batch_tensor();
}

Tensor NaiveRun::batch_tensor() {
  Tensor tensor = eager::empty(runtime_, {plan_.batch, sequence_length(plan_, 0)}, DType::int64);
  runtime_.categorize(tensor, Category::input);
  if (plan_.data == DataSource::to) {
    runtime_.synchronize();
  }
  return tensor;
}

// A tensor that comes from the previous device, or goes to the next one as a gradient.
Tensor NaiveRun::boundary() {
  return elsewhere(runtime_, {plan_.batch, sequence_length(plan_, 0), shape_of(plan_.model).hidden},
                   compute_dtype(plan_.precision));
}

Tensor NaiveRun::received() {
  Tensor states = boundary();
  states->requires_grad = true;
  return states;
}

Outputs NaiveRun::forward() {
  runtime_.mark_phase("forward");
  models::Inputs inputs;
  if (device_ == 0) {
    inputs.input_ids = tokens_;
  } else {
    inputs.hidden_states = received();
  }
  return strategy_.forward(std::move(inputs));
}

// The loss is computed elsewhere; it and the logits are copied to where the tokens were.
Tensor NaiveRun::copied_loss() {
  runtime_.mark_phase("loss");
  models::shift_labels_for_copy(labels_);
  const Tensor remote_loss = elsewhere(runtime_, {}, DType::fp32);
  remote_loss->requires_grad = true;
  Tensor loss = from_elsewhere(remote_loss);
  from_elsewhere(elsewhere(runtime_,
                           {plan_.batch, sequence_length(plan_, 0), shape_of(plan_.model).vocab},
                           boundary().dtype()));
  return loss;
}

// A tied head is where the embedding is: the hidden states come back.
Tensor NaiveRun::own_loss() {
  Outputs outputs = strategy_.forward(
      {.input_ids = {}, .labels = labels_, .attention_mask = {}, .hidden_states = received()});
  Tensor loss = outputs.loss;
  outputs = {};
  return loss;
}

// One backward runs through the whole model, so its inputs stay until the end.
void NaiveRun::first_device() {
  const Tensor hidden_states = forward().hidden_states;
  loss_ = is_tied_ ? own_loss() : copied_loss();
  runtime_.mark_phase("backward");
  if (plan_.grad_accum > 1) {
    loss_ = eager::div(loss_, static_cast<double>(plan_.grad_accum));
  }
  const std::array roots{loss_, hidden_states};
  const std::array grads{eager::empty_like(loss_), boundary()};
  eager::backward(roots, grads);
}

// The gradient of the loss comes from the first device.
void NaiveRun::last_device() {
  Outputs outputs = forward();
  const Tensor remote_loss = to_elsewhere(outputs.loss);
  eager::end_of_frame(outputs.loss, outputs.logits);
  runtime_.mark_phase("backward");
  eager::backward(remote_loss, elsewhere(runtime_, {}, DType::fp32));
}

}  // namespace highwater::pipelining
