#include "workloads/distributed/ddp/ddp.hpp"

#include <utility>

#include "workloads/distributed/broadcast_coalesced.hpp"
#include "workloads/eager/autocast.hpp"
#include "workloads/nn/backward_pass.hpp"
#include "workloads/plan/parallelism.hpp"
#include "workloads/strategy/converted_outputs.hpp"

namespace highwater::dist {

using eager::Tensor;
using eager::TensorList;

namespace {

std::vector<Tensor> tensors_of(const std::vector<nn::NamedTensor>& named) {
  std::vector<Tensor> tensors;
  for (const auto& entry : named) {
    tensors.push_back(entry.tensor);
  }
  return tensors;
}

// reducer.cpp: verify_params_across_processes. All ranks report how many parameters they have; then
// rank 0's sizes and strides are compared with each rank's own. Both are int64.
void verify_parameters(ProcessGroup& group, const std::vector<Tensor>& parameters) {
  eager::Runtime& runtime = group.runtime();
  const eager::OpScope op(runtime, "c10d::verify_params_across_processes", 0);
  const auto number = [&](std::int64_t count) {
    Tensor tensor = eager::empty(runtime, {count}, DType::int64);
    runtime.categorize(tensor, Category::communication);
    return tensor;
  };
  Tensor own = number(1);
  std::vector<Tensor> counts;
  if (runtime.joins_equal_blocks) {
    counts = eager::empty_equal(runtime, group.size(), group.size(), DType::int64);
    for (const Tensor& count : counts) {
      runtime.categorize(count, Category::communication);
    }
  } else {
    for (int rank = 0; rank < group.size(); ++rank) {
      counts.push_back(number(1));
    }
  }
  group.all_gather(counts, own).wait();
  runtime.synchronize();
  std::int64_t length = 0;
  for (const Tensor& parameter : parameters) {
    length += 2 * static_cast<std::int64_t>(parameter.dim());
  }
  Tensor metadata = number(length);
  group.broadcast(metadata).wait();
  runtime.synchronize();
  metadata.reset();
  for (Tensor& count : counts) {
    count.reset();
  }
}

// distributed.py: _sync_module_states. Before the reducer makes its buckets.
std::vector<Tensor> with_states_synced(ProcessGroup& group, nn::Module& model) {
  std::vector<Tensor> parameters = nn::trainable_parameters(model);
  verify_parameters(group, parameters);
  std::vector<Tensor> states = tensors_of(nn::named_parameters(model));
  for (const auto& buffer : nn::named_buffers(model)) {
    states.push_back(buffer.tensor);
  }
  broadcast_coalesced(group, states);
  return parameters;
}

// A limit set by the program also applies to the first bucket (distributed.py:
// bucket_bytes_cap_default).
ReducerOptions reducer_options(const Ddp& plan) {
  ReducerOptions options;
  options.gradient_as_bucket_view = plan.bucket_view;
  options.static_graph = plan.static_graph;
  options.find_unused = plan.find_unused;
  if (plan.bucket_cap_mb) {
    options.bucket_bytes = static_cast<std::int64_t>(*plan.bucket_cap_mb * 1024 * 1024);
    options.first_bucket_bytes = options.bucket_bytes;
  }
  return options;
}

}  // namespace

DistributedDataParallel::DistributedDataParallel(models::LanguageModel& model,
                                                 const Parallelism& plan)
    : model_(model),
      group_(model.runtime(), plan.dp, plan.backend),
      reducer_(group_, with_states_synced(group_, model), reducer_options(plan.ddp),
               make_comm_hook(plan.ddp, group_)),
      static_graph_(plan.ddp.static_graph),
      find_unused_(plan.ddp.find_unused) {}

models::Outputs DistributedDataParallel::forward(models::Inputs inputs) {
  before_forward();
  models::Outputs outputs = model_.forward(std::move(inputs));
  if (converts_outputs(model_.context().plan)) {
    eager::end_autocast(group_.runtime());
    convert_to_fp32(outputs);
  }
  after_forward(outputs);
  return outputs;
}

void DistributedDataParallel::broadcast(std::span<const Tensor> parameters) {
  std::vector<Work> handles;
  for (const Tensor& parameter : parameters) {
    handles.push_back(group_.broadcast(parameter));
  }
  for (const Work& handle : handles) {
    handle.wait();
  }
}

void DistributedDataParallel::stage_backward(int /*chunk*/, BackwardPass pass,
                                             const std::function<void()>& backward) {
  if (pass == BackwardPass::last) {
    reducer_.prepare_for_backward();
  }
  backward();
}

// _pre_forward.
void DistributedDataParallel::before_forward() {
  const bool has_gradients = group_.runtime().grad_enabled;
  if (has_gradients && syncs_gradients_) {
    reducer_.prepare_for_forward();
  }
  if (has_gradients) {
    reducer_.rebuild_buckets();
  }
  if (syncs_buffers_) {
    broadcast_coalesced(group_, tensors_of(nn::named_buffers(model_)));
  }
}

// _post_forward.
void DistributedDataParallel::after_forward(models::Outputs& outputs) {
  syncs_buffers_ = group_.runtime().grad_enabled && syncs_gradients_;
  if (syncs_buffers_) {
    reducer_.prepare_for_backward();
  }
  if (static_graph_ ? !delays_all_reduce_ : find_unused_) {
    sink(outputs);
  }
}

// _DDPSink, of each iteration that looks for unused parameters and of a static graph's first one:
// copies all outputs, and requests a callback at the end of the backward that begins there. Outputs
// without a graph stay as they were; their copies are dropped.
void DistributedDataParallel::sink(models::Outputs& outputs) {
  eager::Runtime& runtime = group_.runtime();
  std::vector<Tensor*> places;
  std::vector<Tensor> originals;
  for (Tensor* output : {&outputs.loss, &outputs.logits, &outputs.encoder_states}) {
    if (output->defined()) {
      places.push_back(output);
      originals.push_back(*output);
    }
  }
  const auto node =
      eager::begin_node(runtime, "_DDPSinkBackward", std::span<const Tensor>(originals));
  std::vector<Tensor> copies;
  for (const Tensor& original : originals) {
    const eager::NoGrad no_grad(runtime);
    copies.push_back(eager::clone(original));
  }
  if (!node) {
    return;
  }
  for (std::size_t i = 0; i < places.size(); ++i) {
    *places[i] = copies[i];
    node->add_output(*places[i]);
  }
  node->backward = [this](eager::Node&, TensorList& grads) {
    if (static_graph_) {
      delay_all_reduce_once();
    }
    return std::exchange(grads, {});
  };
  copies.clear();
  for (Tensor& original : originals) {
    original.reset();
  }
}

void DistributedDataParallel::delay_all_reduce_once() {
  if (!delays_all_reduce_) {
    group_.runtime().final_callbacks.emplace_back([this] { reducer_.delay_all_reduce(); });
    delays_all_reduce_ = true;
  }
}

}  // namespace highwater::dist
