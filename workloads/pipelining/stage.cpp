#include "workloads/pipelining/stage.hpp"

#include <string_view>
#include <utility>

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

// A pickled integer: one byte that says how many follow, up to four of them.
std::int64_t pickled_size(std::int64_t value) {
  if (value < 256) {
    return 2;
  }
  return value < 65536 ? 3 : 5;
}

std::string_view name_of(DType dtype) {
  switch (dtype) {
    case DType::bf16:
      return "bfloat16";
    case DType::fp16:
      return "float16";
    default:
      return "float32";
  }
}

// The tuple with one tensor on meta, as pickle's protocol 4 writes it (torch/_utils.py:
// _rebuild_meta_tensor_no_storage with type, sizes, strides and requires_grad).
std::int64_t pickled_size(const eager::Dims& sizes, DType dtype) {
  constexpr std::int64_t kWithoutNumbers = 88;
  std::int64_t size = kWithoutNumbers + static_cast<std::int64_t>(name_of(dtype).size());
  std::int64_t stride = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    size += pickled_size(sizes[i]) + pickled_size(stride);
    stride *= sizes[i];
  }
  return size;
}

}  // namespace

Stage::Stage(eager::Runtime& runtime, const TrainingPlan& plan, Strategy& strategy,
             Neighbours neighbours, StagePlace place)
    : runtime_(runtime), plan_(plan), strategy_(strategy), neighbours_(neighbours), place_(place) {}

void Stage::prepare() {
  infer_shapes();
  strategy_.set_gradient_sync(GradientSync::off);  // forward_maybe_with_nosync, from now on
  for (int i = 0; i < plan_.grad_accum && !is_first(); ++i) {
    inputs_.push_back(boundary_buffer());
    inputs_.back()->requires_grad = true;
  }
  for (int i = 0; i < plan_.grad_accum && !is_last(); ++i) {
    gradients_.push_back(boundary_buffer());
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

// One micro-batch of zeros passes through the stage, and the description of the result is sent to
// the next one.
void Stage::infer_shapes() {
  Tensor zeros;
  if (is_first()) {
    zeros = eager::empty(runtime_, {plan_.batch, sequence_length(plan_, 0)}, DType::int64);
  } else {
    receive_shapes();
    zeros = eager::empty(runtime_, boundary(), boundary_dtype(plan_));
  }
  models::Outputs outputs;
  {
    const eager::NoGrad no_grad(runtime_);
    outputs = is_first() ? run(zeros, {}) : run({}, zeros);
  }
  if (!is_last()) {
    send_shapes();
  }
  zeros.reset();
}

// recv_object_list of one object: its size, then its bytes, which are cut out with an offset that
// is a tensor.
void Stage::receive_shapes() {
  const eager::OpScope op(runtime_, "recv_object_list", 0);
  const std::int64_t size = pickled_size(boundary(), boundary_dtype(plan_));
  Tensor sizes = eager::empty(runtime_, {1}, DType::int64);
  neighbours_.previous.receive(sizes).wait();
  eager::sum(sizes, {}, eager::KeepDim::no);
  runtime_.synchronize();
  Tensor object = eager::empty(runtime_, {size}, DType::uint8);
  neighbours_.previous.receive(object).wait();
  runtime_.synchronize();
  eager::add(sizes, 0.0);
  Tensor offset = eager::add(sizes, 0.0);
  runtime_.synchronize();
  offset.reset();
  eager::end_of_frame(sizes, object);
}

// send_object_list of one object; the list of sizes is put together once more.
void Stage::send_shapes() {
  const eager::OpScope op(runtime_, "send_object_list", 0);
  const std::int64_t size = pickled_size(boundary(), boundary_dtype(plan_));
  Tensor object = eager::empty(runtime_, {size}, DType::uint8);
  Tensor own_size = eager::empty(runtime_, {1}, DType::int64);
  Tensor sizes = eager::empty(runtime_, {1}, DType::int64);
  neighbours_.next.send(sizes).wait();
  neighbours_.next.send(object).wait();
  eager::end_of_frame(own_size, sizes, object);
}

// The gradients are dropped because a second backward would add to them.
void Stage::clear_runtime_states() {
  eager::release_list(output_chunks_);
  for (const Tensor& input : inputs_) {
    input->grad.reset();
  }
}

models::Outputs Stage::run(const Tensor& tokens, const Tensor& states) {
  models::Inputs inputs;
  inputs.input_ids = tokens;
  inputs.hidden_states = states;
  inputs.chunk = place_.chunk;
  return strategy_.forward(std::move(inputs));
}

void Stage::receive_input(int micro_batch) {
  neighbours_.batched.receive(inputs_[static_cast<std::size_t>(micro_batch)]).wait();
}

Tensor Stage::forward_one_chunk(int micro_batch, const Tensor& tokens) {
  runtime_.mark_phase("forward");
  const auto index = static_cast<std::size_t>(micro_batch);
  const models::Outputs outputs = is_first() ? run(tokens, {}) : run({}, inputs_[index]);
  output_chunks_.push_back(is_last() ? outputs.logits : outputs.hidden_states);
  return output_chunks_.back();
}

dist::Work Stage::send_output(int micro_batch) {
  return neighbours_.batched.send(output_chunks_[static_cast<std::size_t>(micro_batch)]);
}

void Stage::receive_gradient(int micro_batch) {
  neighbours_.batched.receive(gradients_[static_cast<std::size_t>(micro_batch)]).wait();
}

void Stage::backward_one_chunk(int micro_batch, const Tensor& loss) {
  runtime_.mark_phase("backward");
  const auto index = static_cast<std::size_t>(micro_batch);
  const BackwardPass pass = last_if(micro_batch + 1 == plan_.grad_accum);
  if (is_last()) {
    strategy_.backward_chunk(place_.chunk, pass, loss, {});
  } else {
    strategy_.backward_chunk(place_.chunk, pass, output_chunks_[index], gradients_[index]);
  }
  if (!is_first()) {
    neighbours_.batched.send(inputs_[index]->grad).wait();
  }
}

void Stage::merge_outputs() const {
  eager::cat(output_chunks_, 0);
}

}  // namespace highwater::pipelining
