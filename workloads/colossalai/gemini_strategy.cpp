#include "workloads/colossalai/gemini_strategy.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "workloads/colossalai/resize_storage.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::dist {

using eager::Place;
using eager::Tensor;
using eager::TensorList;

namespace {

int world_size(const Parallelism& parallel) {
  return parallel.dp * parallel.tp;
}

// AccumulateGrad's own function comes back with the next graph.
void keep_gradient(eager::Node& node) {
  node.backward = nullptr;
}

}  // namespace

GeminiStrategy::GeminiStrategy(models::LanguageModel& model, const TrainingPlan& plan,
                               const Gemini& options)
    : model_(model),
      runtime_(model.runtime()),
      options_(options),
      world_(runtime_, world_size(plan.parallel), plan.parallel.backend),
      everyone_(runtime_, world_size(plan.parallel), plan.parallel.backend) {
  runtime_.counts_host_memory |= options.placement != GeminiPlacement::cuda || options.pins_memory;
  empty_cache();
  if (plan.parallel.tp > 1) {
    split(plan.parallel);
    empty_cache();
  }
  flags_.push_back(eager::empty(runtime_, {1}, DType::int32));  // HybridAdam: _dummy_overflow_buf
  for (int i = 0; i < 3; ++i) {                                 // init_chunk_manager
    barrier();
  }
  manager_ = std::make_unique<ChunkManager>(runtime_, shared_parameters(plan.parallel), options_);
  if (plan.init == ModelInit::cpu) {  // _cast_buffers, of a model that was halved on the host
    nn::convert(model_, model_dtype(plan.precision));
    nn::move_to_cuda(model_);
  }
  gemini_ = std::make_unique<GeminiManager>(runtime_, *manager_, options_);
  hook_parameters(model_, *gemini_, place_);
  hook_into_backward();
  make_scaler();
  empty_cache();
}

GeminiStrategy::~GeminiStrategy() {
  for (const auto& node : accumulators_) {
    keep_gradient(*node);
  }
}

void GeminiStrategy::split(const Parallelism& parallel) {
  tensor_ranks_.emplace(runtime_, parallel.tp, parallel.backend);
  data_ranks_.emplace(runtime_, parallel.dp, parallel.backend);
  place_ = TensorParallelRank{&*tensor_ranks_, rank_place(parallel).tp};
  split_weights_ = split_weights(model_, *place_);
}

// DynamicGradScaler's scale and its limits, and ZeroOptimizer's _found_overflow.
void GeminiStrategy::make_scaler() {
  for (int i = 0; i < 3; ++i) {
    flags_.push_back(eager::empty(runtime_, {1}, DType::fp32));
  }
  flags_.push_back(eager::empty(runtime_, {1}, DType::int64));
}

// distributed_c10d.py: barrier; the tensor that is reduced does not outlive it, the one that names
// the device is held until the next barrier.
void GeminiStrategy::barrier() {
  barrier_flag_ = eager::empty(runtime_, {1}, DType::boolean);
  const Tensor reduced = eager::empty(runtime_, {1}, DType::fp32);
  world_.all_reduce(reduced).wait();
  runtime_.synchronize();
}

void GeminiStrategy::empty_cache() {
  if (options_.empties_cache) {
    runtime_.empty_cache();
  }
}

std::vector<GeminiParameter> GeminiStrategy::shared_parameters(const Parallelism& parallel) {
  std::vector<GeminiParameter> result;
  for (const nn::NamedTensor& named : nn::named_parameters(model_)) {
    const auto is_same = [&](const Tensor& other) { return other.get() == named.tensor.get(); };
    const bool is_split = std::ranges::any_of(split_weights_, is_same);
    result.push_back({named.tensor, is_split ? &*data_ranks_ : &everyone_,
                      is_split ? rank_place(parallel).dp : parallel.rank});
  }
  return result;
}

// register_hook(grad_handle) on every parameter. The node that accumulates into a leaf is found as
// the edge of any operator applied to it.
void GeminiStrategy::hook_into_backward() {
  const eager::Scoped<bool> grad_mode(runtime_.grad_enabled, true);
  for (const Tensor& parameter : nn::trainable_parameters(model_)) {
    const std::array operands{parameter};
    accumulators_.push_back(
        eager::begin_node(runtime_, "", std::span<const Tensor>(operands))->next_edges[0].node);
    accumulators_.back()->backward = [this, leaf = parameter.get()](eager::Node& node,
                                                                    TensorList& grads) {
      const Tensor grad = std::move(grads[0]);
      take_gradient(node.variable_owner, grad);
      return TensorList{};
    };
  }
}

// grad_handle: autograd gets an empty tensor of the gradient's shape instead of the gradient.
void GeminiStrategy::take_gradient(const Tensor& parameter, const Tensor& grad) {
  {
    const eager::OpScope op(runtime_, "empty_like", 0);
    eager::empty_like(grad);
  }
  gemini_->take_gradient(parameter);
}

void GeminiStrategy::backward(const Tensor& loss) {
  // Both live until the next backward begins (seen in recordings), and with them the graph.
  last_loss_.reset();
  scaled_loss_.reset();
  scaled_loss_ = eager::mul(loss, 1.0);
  last_loss_ = loss;
  gemini_->begin_backward();
  eager::backward(scaled_loss_);
  gemini_->end_iteration();
  if (!std::exchange(ran_backward_, true)) {
    empty_cache();
  }
}

// ZeroOptimizer.step and HybridAdam.step: the first makes both moments of each parameter's part.
void GeminiStrategy::step() {
  gemini_->move_wide_chunks(nn::trainable_parameters(model_));
  world_.all_reduce(flags_.back()).wait();
  runtime_.synchronize();
  if (moments_.empty()) {
    make_moments();
  }
  manager_->on_optimizer_step();
}

// Where the fp32 copy is.
void GeminiStrategy::make_moments() {
  for (const Tensor& parameter : nn::trainable_parameters(model_)) {
    const std::int64_t elements = manager_->owned_elements(parameter);
    for (int moment = 0; elements > 0 && moment < 2; ++moment) {
      const eager::OpScope op(runtime_, "zeros_like");
      const bool is_on_host = manager_->wide_chunk_of(parameter).is_on_host();
      moments_.push_back(eager::empty_on(runtime_, is_on_host ? Place::host : Place::cuda,
                                         {elements}, DType::fp32));
      runtime_.categorize(moments_.back(), Category::optimizer_state);
      manager_->add_static_bytes(is_on_host ? 0 : moments_.back()->storage->bytes);
    }
  }
}

}  // namespace highwater::dist
