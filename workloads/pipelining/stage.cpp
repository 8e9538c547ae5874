#include "workloads/pipelining/stage.hpp"

#include <utility>

#include "workloads/models/language_model.hpp"
#include "workloads/nn/backward_pass.hpp"
#include "workloads/plan/pipeline/model_split.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::pipelining {
namespace {

using eager::Tensor;

// The type of what stages pass on: fully_shard's mixed precision casts parameters and inputs.
DType boundary_dtype(const TrainingPlan& plan) {
  if (is_fsdp2(plan.parallel) && plan.parallel.fsdp.param_dtype) {
    return *plan.parallel.fsdp.param_dtype;
  }
  return compute_dtype(plan.precision);
}

bool is_ddp(const Parallelism& p) {
  return p.dp > 1 && p.dp_kind == DataParallel::ddp;
}

}  // namespace

Stage::Stage(eager::Runtime& runtime, const TrainingPlan& plan, StageParts parts,
             Neighbours neighbours, StagePlace place)
    : runtime_(runtime),
      plan_(plan),
      rules_(stage_rules(runtime.torch)),
      parts_(parts),
      neighbours_(neighbours),
      place_(place),
      inputs_(static_cast<std::size_t>(plan.grad_accum)),
      gradients_(inputs_.size()),
      outputs_(inputs_.size()) {}

void Stage::make_buffers() {
  parts_.strategy.set_gradient_sync(GradientSync::off);  // forward_maybe_with_nosync, from now on
  if (rules_.buffers == ReceiveBuffers::when_needed) {
    return;
  }
  for (std::size_t i = 0; i < inputs_.size() && !is_first(); ++i) {
    inputs_[i] = input_buffer();
  }
  for (std::size_t i = 0; i < gradients_.size() && !is_last(); ++i) {
    gradients_[i] = boundary_buffer();
  }
}

eager::Dims Stage::boundary() const {
  const int parts = sequence_parts(plan_.parallel);
  return {plan_.batch, sequence_length(plan_, 0) / parts, shape_of(plan_.model).hidden};
}

Tensor Stage::boundary_buffer() {
  const eager::OpScope op(runtime_, "recv", 0);
  Tensor buffer = eager::empty(runtime_, boundary(), boundary_dtype(plan_));
  runtime_.categorize(buffer, Category::communication);
  return buffer;
}

Tensor Stage::input_buffer() {
  Tensor buffer = boundary_buffer();
  buffer->requires_grad = true;
  return buffer;
}

std::int64_t Stage::message_bytes(Description object) const {
  return pickled_size(object, boundary(), boundary_dtype(plan_));
}

// One micro-batch of zeros passes through the stage, and the description of the result is sent to
// the next one.
void Stage::infer_shapes() {
  Tensor zeros;
  if (is_first()) {
    zeros = eager::empty(runtime_, {plan_.batch, sequence_length(plan_, 0)}, DType::int64);
  } else {
    receive_object(neighbours_.previous, message_bytes(Description::meta_tensor));
    zeros = eager::empty(runtime_, boundary(), boundary_dtype(plan_));
  }
  models::Outputs outputs;
  {
    const eager::NoGrad no_grad(runtime_);
    outputs = is_first() ? run(zeros, {}) : run({}, zeros);
  }
  if (!is_last()) {
    send_object(neighbours_.next, message_bytes(Description::meta_tensor));
  }
  zeros.reset();
}

// _pre_metadata_inference_backup, since 2.14: the passes to come may change buffers.
void Stage::back_up_buffers() {
  if (runtime_.torch < Release{2, 14}) {
    return;
  }
  for (const nn::NamedTensor& buffer : nn::named_buffers(parts_.model)) {
    trial_.buffers.push_back(eager::clone(buffer.tensor));
  }
}

// _forward_metadata_inference: the first micro-batch itself, or empty states; the graph stays.
void Stage::infer_forward(const Tensor& tokens) {
  if (is_first()) {
    trial_.output = output_of(run(tokens, {}));
    return send_object(neighbours_.next, message_bytes(Description::forward_metadata));
  }
  receive_object(neighbours_.previous, message_bytes(Description::forward_metadata));
  trial_.input = input_buffer();
  trial_.output = output_of(run({}, trial_.input));
  if (!is_last()) {
    send_object(neighbours_.next, message_bytes(Description::forward_metadata));
  }
}

// _backward_metadata_inference: the gradient of the input alone, which tokens have not. The
// function's variables are freed when it returns.
void Stage::infer_backward(const std::function<Tensor(const Tensor&)>& loss_of) {
  Tensor loss;
  Tensor ones;
  if (is_last()) {
    loss = loss_of(trial_.output);
  } else {
    receive_object(neighbours_.next, message_bytes(Description::backward_metadata));
    const eager::OpScope op(runtime_, "ones", 0);
    ones = eager::empty(runtime_, boundary(), boundary_dtype(plan_));
  }
  Tensor gradient;
  if (!is_first()) {
    gradient =
        eager::gradient_of_leaf(is_last() ? loss : trial_.output, std::move(ones), trial_.input);
    send_object(neighbours_.previous, message_bytes(Description::backward_metadata));
  }
  ones.reset();
  eager::end_of_frame(trial_.input, loss, trial_.output, gradient);
}

void Stage::drop_backup() {
  eager::release_list(trial_.buffers);
}

// The gradients are dropped because a second backward would add to them.
void Stage::clear_runtime_states() {
  eager::release_list(output_chunks_);
  for (std::size_t i = outputs_.size(); i-- > 0;) {
    outputs_[i].reset();
  }
  for (const Tensor& input : inputs_) {
    if (input.defined()) {
      input->grad.reset();
    }
  }
}

models::Outputs Stage::run(const Tensor& tokens, const Tensor& states) {
  models::Inputs inputs;
  inputs.input_ids = tokens;
  inputs.hidden_states = states;
  inputs.chunk = place_.chunk;
  return parts_.strategy.forward(std::move(inputs));
}

Tensor Stage::output_of(const models::Outputs& outputs) const {
  return is_last() ? outputs.logits : outputs.hidden_states;
}

Tensor Stage::receive_input(int micro_batch) {
  Tensor& input = inputs_[static_cast<std::size_t>(micro_batch)];
  if (!input.defined()) {
    input = input_buffer();
  }
  neighbours_.batched.receive(input).wait();
  return input;
}

Tensor Stage::forward_one_chunk(int micro_batch, const Tensor& tokens) {
  runtime_.mark_phase("forward");
  const auto index = static_cast<std::size_t>(micro_batch);
  outputs_[index] = output_of(is_first() ? run(tokens, {}) : run({}, inputs_[index]));
  if (is_last()) {
    output_chunks_.push_back(outputs_[index]);
  }
  return outputs_[index];
}

dist::Work Stage::send_output(int micro_batch) {
  return neighbours_.batched.send(outputs_[static_cast<std::size_t>(micro_batch)]);
}

// release_fwd_send_outputs. DDP looks for its parameters behind the outputs themselves.
void Stage::release_output(int micro_batch) {
  Tensor& output = outputs_[static_cast<std::size_t>(micro_batch)];
  if (rules_.outputs == SentOutputs::until_sent && !is_ddp(plan_.parallel) && output.defined()) {
    output = eager::gradient_edge(output);
  }
}

Tensor Stage::receive_gradient(int micro_batch) {
  Tensor& gradient = gradients_[static_cast<std::size_t>(micro_batch)];
  if (!gradient.defined()) {
    gradient = boundary_buffer();
  }
  neighbours_.batched.receive(gradient).wait();
  return gradient;
}

Tensor Stage::backward_one_chunk(int micro_batch, const Tensor& loss) {
  runtime_.mark_phase("backward");
  const auto index = static_cast<std::size_t>(micro_batch);
  const BackwardPass pass = last_if(micro_batch + 1 == plan_.grad_accum);
  if (is_last()) {
    parts_.strategy.backward_chunk(place_.chunk, pass, loss, {});
  } else {
    parts_.strategy.backward_chunk(place_.chunk, pass, outputs_[index], gradients_[index]);
  }
  Tensor sent;
  if (!is_first()) {
    sent = inputs_[index]->grad;
  }
  if (sent.defined() && rules_.gradients == SentGradients::until_next_sends) {
    inputs_[index]->grad.reset();
  }
  end_of_backward(index);
  return sent;
}

void Stage::end_of_backward(std::size_t index) {
  if (rules_.outputs != SentOutputs::until_next_step) {
    outputs_[index].reset();
  }
  if (rules_.buffers == ReceiveBuffers::when_needed) {
    eager::end_of_frame(inputs_[index], gradients_[index]);
  }
}

dist::Work Stage::send_gradient(const Tensor& gradient) {
  return neighbours_.batched.send(gradient);
}

void Stage::merge_outputs() const {
  eager::cat(output_chunks_, 0);
}

}  // namespace highwater::pipelining
