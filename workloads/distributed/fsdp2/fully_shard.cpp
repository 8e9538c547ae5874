#include "workloads/distributed/fsdp2/fully_shard.hpp"

#include <algorithm>
#include <ranges>
#include <utility>

#include "workloads/nn/blocks.hpp"
#include "workloads/optim/clip_grad.hpp"
#include "workloads/optim/tensor_vector.hpp"
#include "workloads/plan/offload.hpp"

namespace highwater::dist {

using eager::Runtime;
using eager::Tensor;
using eager::TensorList;

namespace {

FsdpContext context_of(Runtime& runtime, const Parallelism& plan) {
  const int shards = data_group(plan).ranks / plan.fsdp.replicas;
  FsdpContext context{
      .groups = {.shard = ProcessGroup(runtime, shards, plan.backend), .replicate = std::nullopt},
      .precision = {.param = plan.fsdp.param_dtype, .reduce = plan.fsdp.reduce_dtype},
      .streams = {},
      .all_gather_state = {},
      .reduce_scatter_state = {},
      .post_forward_order = {},
      .offload_to_cpu = offloads_params(plan)};
  if (plan.fsdp.replicas > 1) {
    context.groups.replicate.emplace(runtime, plan.fsdp.replicas, plan.backend);
  }
  return context;
}

// The second dimension of a mesh (replicas, shards) counts fastest.
ShardPlace shard_place(const Parallelism& plan) {
  const GroupPlace group = data_group(plan);  // context-parallel ranks share what is sharded
  const int shards = group.ranks / plan.fsdp.replicas;
  return {.ranks = shards, .rank = group.rank % shards};
}

/// What a unit manages.
struct ManagedStates {
  std::vector<Tensor> params;
  std::vector<Tensor> buffers;
};

// _get_managed_modules and _get_managed_states: children come before their module; what another
// unit already manages is left out.
void collect(nn::Module& module, std::unordered_set<const void*>& seen, ManagedStates& states) {
  const auto add = [&seen](const std::vector<nn::NamedTensor>& own, std::vector<Tensor>& managed) {
    for (const nn::NamedTensor& entry : own) {
      if (entry.tensor.defined() && seen.insert(entry.tensor.get()).second) {
        managed.push_back(entry.tensor);
      }
    }
  };
  for (nn::Module* child : module.children()) {
    collect(*child, seen, states);
  }
  add(module.own_parameters(), states.params);
  add(module.own_buffers(), states.buffers);
}

// _move_states_to_device: what is on meta stays there.
void move_to_device(const ManagedStates& states) {
  const auto move = [](const std::vector<Tensor>& tensors, Category category) {
    for (const Tensor& tensor : tensors) {
      if (tensor.place() == eager::Place::host) {
        nn::move_tensor_to_cuda(tensor, category);
      }
    }
  };
  move(states.params, Category::parameter);
  move(states.buffers, Category::buffer);
}

class BlockHooks : public nn::ForwardHooks {
 public:
  explicit BlockHooks(FsdpState& state) : state_(state) {}

  void before(std::span<Tensor> arguments) override { state_.pre_forward(arguments); }

  void after(std::span<const Tensor> /*arguments*/, std::span<Tensor> results) override {
    state_.post_forward(results);
  }

 private:
  FsdpState& state_;
};

// _register_group_forward_hooks: the unit's forward begins with the first of its modules and ends
// with the last.
class GroupHooks : public nn::ForwardHooks {
 public:
  GroupHooks(FsdpState& state, const std::vector<nn::Module*>& modules, const nn::Module& module)
      : state_(state), modules_(modules), module_(module) {}

  void before(std::span<Tensor> arguments) override {
    if (state_.modules_to_run.empty()) {
      state_.modules_to_run.insert(modules_.begin(), modules_.end());
    }
    state_.pre_forward(arguments);
  }

  void after(std::span<const Tensor> /*arguments*/, std::span<Tensor> results) override {
    if (state_.modules_to_run.erase(&module_) > 0 && state_.modules_to_run.empty()) {
      state_.post_forward(results);
    }
  }

 private:
  FsdpState& state_;
  std::vector<nn::Module*> modules_;
  const nn::Module& module_;
};

// DTensor finds out shapes with FakeTensors: once without and once with an entry in their cache.
void start_fake_tensors(Runtime& runtime) {
  eager::init_gpu_context(runtime);
  eager::init_gpu_context(runtime);
}

// named_buffers().
void move_buffers(nn::Module& module) {
  nn::move_buffers_to_cuda(module);
  for (nn::Module* child : module.children()) {
    move_buffers(*child);
  }
}

// _fsdp_state.py _lazy_init: before 2.8 always, since then unless the script says
// reshard_after_forward=True (_auto_reshard_after_forward).
bool keeps_root(const Runtime& runtime, Reshard reshard) {
  const bool is_told = reshard == Reshard::all || reshard == Reshard::but_last;
  return runtime.torch < Release{2, 8} || !is_told;
}

bool frees_block(Reshard reshard, bool is_last) {
  return reshard != Reshard::never && !(reshard == Reshard::but_last && is_last);
}

bool wants_gradient(const Tensor& tensor) {
  return tensor.defined() && tensor.requires_grad();
}

}  // namespace

// In a recomputation, the hooks of backward manage the parameters.
void FsdpState::pre_forward(std::span<Tensor> arguments) {
  if (phase_ == FsdpPhase::pre_backward) {
    return;
  }
  const bool is_first = phase_ != FsdpPhase::forward;
  phase_ = FsdpPhase::forward;
  if (is_first) {
    root_pre_forward();
  }
  cast_forward_inputs(arguments);
  if (has_group()) {
    const bool is_entering = !group_.is_in_forward();
    group_.pre_forward();
    if (is_entering) {
      register_post_backward_hook(arguments);
    }
  }
}

void FsdpState::root_pre_forward() {
  lazy_init();
  if (shared_.iteration_root == nullptr) {
    shared_.iteration_root = this;
  }
}

void FsdpState::lazy_init() {
  if (shared_.is_initialized) {
    return;
  }
  shared_.is_initialized = true;
  if (shared_.keeps_root) {
    group_.keep_after_forward();
  }
  Runtime& runtime = shared_.context.groups.shard.runtime();
  shared_.context.streams = {.all_gather_copy_in = runtime.make_stream(),
                             .reduce_scatter = runtime.make_stream(),
                             .all_reduce = runtime.make_stream()};
  for (const auto& state : shared_.states) {
    for (FsdpParam& param : state->group().params()) {
      param.reset_sharded_param();
    }
  }
}

void FsdpState::cast_forward_inputs(std::span<Tensor> arguments) const {
  const auto& dtype = shared_.context.precision.param;
  if (!dtype) {
    return;
  }
  for (Tensor& argument : arguments) {
    if (argument.defined() && is_floating_point(argument.dtype())) {
      argument = eager::to_dtype(argument, *dtype);
    }
  }
}

// RegisterPostBackwardFunction: passes the arguments through. Its backward runs after the block's.
void FsdpState::register_post_backward_hook(std::span<Tensor> arguments) {
  Runtime& runtime = shared_.context.groups.shard.runtime();
  std::vector<Tensor*> places;
  std::vector<Tensor> inputs;
  for (Tensor& argument : arguments) {
    if (wants_gradient(argument)) {
      places.push_back(&argument);
      inputs.push_back(argument);
    }
  }
  const auto node = eager::begin_node(runtime, "RegisterPostBackwardFunctionBackward",
                                      std::span<const Tensor>(inputs));
  if (!node) {
    return;
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    *places[i] = eager::alias(inputs[i]);
    node->add_output(*places[i]);
  }
  node->backward = [this](eager::Node&, TensorList& grads) {
    group_.post_backward();
    return std::exchange(grads, {});
  };
}

void FsdpState::post_forward(std::span<Tensor> results) {
  if (phase_ == FsdpPhase::pre_backward) {
    return;
  }
  if (has_group()) {
    group_.post_forward();
  }
  register_pre_backward_hook(results);
  phase_ = FsdpPhase::idle;
  if (shared_.iteration_root == this) {
    complete_others(results);
    shared_.context.all_gather_state.reset();
    shared_.iteration_root = nullptr;
  }
}

// _force_complete_incomplete_states.
void FsdpState::complete_others(std::span<Tensor> results) {
  for (const auto& state : std::views::reverse(shared_.states)) {
    if (state.get() != this && !state->modules_to_run.empty()) {
      state->complete(results);
    }
  }
}

void FsdpState::complete(std::span<Tensor> results) {
  group_.post_forward();
  register_pre_backward_hook(results);
  phase_ = FsdpPhase::idle;
  modules_to_run.clear();
}

void FsdpState::register_pre_backward_hook(std::span<Tensor> results) {
  if (!shared_.context.groups.shard.runtime().grad_enabled) {
    return;
  }
  for (const Tensor& result : results) {
    if (result.defined() && result->grad_fn) {
      result->grad_fn->pre_hooks.emplace_back([this] { pre_backward(); });
    }
  }
}

void FsdpState::pre_backward() {
  phase_ = FsdpPhase::pre_backward;
  if (!shared_.is_callback_queued) {
    shared_.is_callback_queued = true;
    shared_.context.groups.shard.runtime().final_callbacks.emplace_back(
        [this] { root_post_backward_final_callback(); });
  }
  if (has_group()) {
    group_.pre_backward();
  }
}

// Groups whose inputs needed no gradient, such as the root, are still gathered. Before the last
// backward, nothing waits for reductions, and the order of gathering is not forgotten.
void FsdpState::root_post_backward_final_callback() {
  shared_.iteration_root = nullptr;
  for (const auto& state : shared_.states) {
    state->modules_to_run.clear();
    if (state->group_.is_unsharded()) {
      state->group_.post_backward();
    }
    state->phase_ = FsdpPhase::idle;
    state->group_.set_idle();
    if (shared_.context.is_last_backward) {
      state->group_.finalize_backward();
    }
  }
  if (shared_.context.is_last_backward) {
    shared_.context.post_forward_order.clear();
    shared_.context.reduce_scatter_state.reset();
  }
  shared_.is_callback_queued = false;
}

FullyShard::FullyShard(models::LanguageModel& model, const Parallelism& plan, bool is_first)
    : model_(model),
      shared_{.context = context_of(model.runtime(), plan), .states = {}},
      resharding_(shared_.context.groups.shard) {
  model.runtime().counts_host_memory |= shared_.context.offload_to_cpu;
  shared_.keeps_root = keeps_root(model.runtime(), plan.fsdp.reshard);
  const ShardPlace place = shard_place(plan);
  const bool is_recordings_loop = model.context().plan.framework == Framework::torch;
  const std::vector<nn::Module*> blocks =
      is_recordings_loop ? nn::block_modules(model) : nn::transformer_blocks(model);
  const bool is_on_meta = model.context().place == eager::Place::meta;
  for (nn::Module* block : blocks) {
    shard({block}, place, frees_block(plan.fsdp.reshard, block == blocks.back()));
  }
  if (plan.fsdp.units == FsdpUnits::ends) {
    shard_ends(place, plan.fsdp.reshard);
  }
  shard({&model}, place, true);
  whole_ends_.clear();
  sort_states();
  if (is_on_meta && loads_checkpoint(model.context().plan.framework)) {
    load_full_state_dict(place);
  } else if (is_on_meta) {
    if (is_first && !shared_.context.offload_to_cpu) {  // to_empty(device="cpu")
      start_fake_tensors(model.runtime());
    }
    to_empty(model);
  }
}

// The last unit keeps its parameters, which the backward needs first, unless torchtitan is told
// otherwise (fsdp_reshard_after_forward "always"). A tied embedding is in it.
void FullyShard::shard_ends(ShardPlace place, Reshard reshard) {
  const nn::ModelEnds ends = nn::model_ends(model_);
  const auto weight = [](nn::Module* module) {
    return module == nullptr ? nullptr : module->own_parameters().front().tensor.get();
  };
  const bool is_tied = ends.head != nullptr && weight(ends.embedding) == weight(ends.head);
  if (!is_tied && ends.embedding != nullptr) {
    shard({ends.embedding}, place, reshard != Reshard::never);
  }
  std::vector<nn::Module*> tail{ends.final_norm, is_tied ? ends.embedding : nullptr, ends.head};
  std::erase(tail, nullptr);
  if (!tail.empty()) {
    shard(tail, place, reshard == Reshard::all);
  }
}

// accelerate 1.15, utils/fsdp_utils.py fsdp2_prepare_model: input_weight and output_weight are
// bound until it returns, and with them what was sharded.
void FullyShard::keep_whole_ends(const std::vector<Tensor>& params) {
  if (!runs_accelerate(model_.context().plan.framework)) {
    return;
  }
  const nn::ModelEnds ends = nn::model_ends(model_);
  for (nn::Module* module : {ends.embedding, ends.head}) {
    const Tensor* const weight =
        module == nullptr ? nullptr : &module->own_parameters().front().tensor;
    if (weight != nullptr &&
        std::ranges::find(params, weight->get(), &Tensor::get) != params.end()) {
      whole_ends_.push_back(eager::alias(*weight));
    }
  }
}

// Of several modules, the first names the unit.
void FullyShard::shard(const std::vector<nn::Module*>& modules, ShardPlace place,
                       bool reshards_after_forward) {
  const nn::InModule scope(*modules.front());
  ManagedStates managed;
  for (nn::Module* module : modules) {
    collect(*module, managed_, managed);
  }
  move_to_device(managed);
  keep_whole_ends(managed.params);
  FsdpState& state = *shared_.states.emplace_back(
      std::make_unique<FsdpState>(shared_, managed.params, place, reshards_after_forward));
  for (FsdpParam& param : state.group().params()) {
    param_of_.emplace(param.unsharded().get(), &param);
    resharding_.add(param.sharded(), param.unsharded().size(0));
  }
  for (nn::Module* module : modules) {
    state_of_.emplace(module, &state);
    module->set_sharded_unit(&state);
    if (modules.size() > 1) {
      module->add_forward_hooks(std::make_shared<GroupHooks>(state, modules, *module));
    } else if (module != &model_) {
      module->add_forward_hooks(std::make_shared<BlockHooks>(state));
    }
  }
}

// The order of named_modules().
void FullyShard::sort_states() {
  std::vector<const FsdpState*> order;
  const auto visit = [&](auto& self, const nn::Module& module) -> void {
    if (const auto found = state_of_.find(&module); found != state_of_.end()) {
      order.push_back(found->second);
    }
    for (const nn::Module* child : module.children()) {
      self(self, *child);
    }
  };
  visit(visit, model_);
  std::ranges::sort(shared_.states, {}, [&order](const std::unique_ptr<FsdpState>& state) {
    return std::ranges::find(order, state.get()) - order.begin();
  });
}

// Module._apply: children first, a module's parameters, then its buffers. A tied parameter gets its
// block once for each module that has it. FSDPModule._apply pads what the group has then.
void FullyShard::to_empty(nn::Module& module) {
  for (nn::Module* child : module.children()) {
    const nn::InModule scope(*child);
    to_empty(*child);
  }
  for (const nn::NamedTensor& own : module.own_parameters()) {
    if (own.tensor.defined()) {
      param_of_.at(own.tensor.get())->to_empty();
    }
  }
  nn::move_buffers_to_cuda(module);
  if (const auto found = state_of_.find(&module); found != state_of_.end()) {
    for (FsdpParam& param : found->second->group().params()) {
      param.reset_sharded_param();
    }
  }
}

// accelerate 1.15, utils/fsdp_utils.py fsdp2_load_full_state_dict and the end of
// fsdp2_prepare_model: buffers follow the parameters, and tie_weights() drops the second share of a
// tied one. torchtune 0.6, training/_distributed.py load_from_full_model_state_dict: every rank has
// the whole checkpoint on its host, and buffers were made before.
void FullyShard::load_full_state_dict(ShardPlace place) {
  const bool has_checkpoint = model_.context().plan.framework == Framework::torchtune;
  model_.init_buffers();
  FullStateDict loaded({.ranks = place.ranks, .rank = has_checkpoint ? 0 : place.rank});
  load(model_, loaded);
  loaded.release_whole();
  move_buffers(model_);
}

// state_dict(): a module's own parameters, then its children's.
void FullyShard::load(nn::Module& module, FullStateDict& loaded) {
  const nn::InModule scope(module);
  for (const nn::NamedTensor& own : module.own_parameters()) {
    if (own.tensor.defined()) {
      loaded.load(*param_of_.at(own.tensor.get()));
    }
  }
  for (nn::Module* child : module.children()) {
    load(*child, loaded);
  }
}

models::Outputs FullyShard::forward(models::Inputs inputs) {
  FsdpState& root = *shared_.states.front();
  root.pre_forward({&inputs.hidden_states, 1});
  models::Outputs outputs = model_.forward(std::move(inputs));
  std::vector<Tensor> results{outputs.loss, outputs.logits, outputs.hidden_states};
  results.insert(results.end(), outputs.logit_chunks.begin(), outputs.logit_chunks.end());
  results.push_back(outputs.encoder_states);
  root.post_forward(results);
  return outputs;
}

// run_post_backward in stage.py. The callback at the end of each backward finds that it was not the
// last, so reductions are waited for in the next step only.
void FullyShard::stage_backward(int /*chunk*/, bool is_last,
                                const std::function<void()>& backward) {
  shared_.context.set_last_backward(false);
  backward();
  if (!is_last) {
    return;
  }
  shared_.context.set_last_backward(true);
  for (const auto& state : shared_.states) {
    if (state->has_group()) {
      state->group().post_backward();
    }
  }
}

std::vector<Tensor> FullyShard::parameters() const {
  std::vector<Tensor> shards;
  for (const nn::NamedTensor& entry : nn::named_parameters(model_)) {
    const Tensor& shard = param_of_.at(entry.tensor.get())->sharded();
    if (shard.requires_grad()) {
      shards.push_back(shard);
    }
  }
  return shards;
}

void FullyShard::share_found_inf(const Tensor& found_inf) {
  const Tensor largest = optim::make_like("clone", found_inf);
  shared_.context.groups.shard.all_reduce(largest).wait();
}

// Gradients on the host are clipped there; another backend sums them over the ranks.
void FullyShard::clip(const std::vector<Tensor>& parameters) {
  if (shared_.context.offload_to_cpu) {
    return;
  }
  clip_grad_norm(model_.runtime(), parameters,
                 [this](const Tensor& partial) { return resharding_.full_norm(partial); });
}

}  // namespace highwater::dist
