#include "workloads/distributed/fsdp2/fully_shard.hpp"

#include <algorithm>
#include <utility>

#include "workloads/distributed/fsdp2/managed_states.hpp"
#include "workloads/nn/backward_pass.hpp"
#include "workloads/nn/blocks.hpp"
#include "workloads/optim/clip_grad.hpp"
#include "workloads/optim/tensor_vector.hpp"
#include "workloads/plan/lora_targets.hpp"
#include "workloads/plan/offload.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::dist {

using eager::Runtime;
using eager::Tensor;

namespace {

// 2.15, _fsdp_param.py unsharded_grad_dtype: without a type of their own, reductions have that of
// the parameters as they were made; before, that of the gradients (MixedPrecisionPolicy).
std::optional<DType> reduce_dtype(const Runtime& runtime, const TrainingPlan& plan) {
  const Fsdp& fsdp = plan.parallel.fsdp;
  const bool follows_parameters =
      !fsdp.reduce_dtype && fsdp.param_dtype && runtime.torch >= Release{2, 15};
  const bool trains_wide = plan.lora.rank > 0 && !builds_adapters(plan);  // PEFT's are fp32
  const DType trained = trains_wide ? DType::fp32 : model_dtype(plan.precision);
  return follows_parameters ? trained : fsdp.reduce_dtype;
}

FsdpContext context_of(models::LanguageModel& model, const Parallelism& plan) {
  Runtime& runtime = model.runtime();
  const int shards = data_group(plan).ranks / plan.fsdp.replicas;
  FsdpContext context{
      .groups = {.shard = ProcessGroup(runtime, shards, plan.backend), .replicate = std::nullopt},
      .precision = {.param = plan.fsdp.param_dtype,
                    .reduce = reduce_dtype(runtime, model.context().plan)},
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

// _fsdp_state.py _lazy_init: before 2.8 always, since then unless the script says
// reshard_after_forward=True (_auto_reshard_after_forward).
bool keeps_root(const Runtime& runtime, Reshard reshard) {
  const bool is_told = reshard == Reshard::all || reshard == Reshard::but_last;
  return runtime.torch < Release{2, 8} || !is_told;
}

enum class BlockPlace { inner, last };

AfterUse after_block(Reshard reshard, BlockPlace block) {
  return reshard_if(reshard != Reshard::never &&
                    !(reshard == Reshard::but_last && block == BlockPlace::last));
}

// accelerate 1.15, utils/fsdp_utils.py _find_final_norm: the base model's attribute is asked of
// PEFT's model, where `model` is the whole below it, whose children have no norm.
bool hides_norm(const nn::Module& model) {
  const TrainingPlan& plan = model.context().plan;
  return runs_accelerate(plan.framework) && plan.lora.rank > 0 &&
         std::ranges::find(model.children(), "model", &nn::Module::name) != model.children().end();
}

}  // namespace

FullyShard::FullyShard(models::LanguageModel& model, const Parallelism& plan, ModelOrder order)
    : model_(model),
      shared_{.context = context_of(model, plan), .states = {}},
      resharding_(shared_.context.groups.shard, shard_place(plan).rank),
      packed_(nn::packed_weights(model)) {
  model.runtime().counts_host_memory |= shared_.context.offload_to_cpu;
  shared_.keeps_root = keeps_root(model.runtime(), plan.fsdp.reshard);
  const ShardPlace place = shard_place(plan);
  const bool is_recordings_loop = model.context().plan.framework == Framework::torch;
  const std::vector<nn::Module*> blocks =
      is_recordings_loop ? nn::block_modules(model) : nn::transformer_blocks(model);
  const bool is_on_meta = model.context().place == eager::Place::meta;
  if (runs_accelerate(model.context().plan.framework)) {
    references_.emplace(model);
    upcast_trained();
    references_->take_state_dict();
    ignore_integers();
  }
  for (nn::Module* block : blocks) {
    shard({block}, place,
          after_block(plan.fsdp.reshard,
                      block == blocks.back() ? BlockPlace::last : BlockPlace::inner));
  }
  if (plan.fsdp.units == FsdpUnits::ends) {
    shard_ends(place, plan.fsdp.reshard);
  }
  shard({&model}, place, AfterUse::reshard);
  if (references_) {
    references_->release();
    references_.reset();
  }
  sort_states();
  if (is_on_meta) {
    fill(place, order);
  }
}

// accelerate 1.15, utils/fsdp_utils.py fsdp2_prepare_model: with mixed precision, but not around
// 4-bit weights. Frozen weights keep their type.
void FullyShard::upcast_trained() {
  const TrainingPlan& plan = model_.context().plan;
  if (!plan.parallel.fsdp.param_dtype || is_4bit(plan.quantization)) {
    return;
  }
  const eager::NoGrad no_grad(model_.runtime());
  for (const Tensor& parameter : nn::trainable_parameters(model_)) {
    nn::convert_tensor(parameter, DType::fp32, Category::parameter);
  }
}

// accelerate 1.15, utils/fsdp_utils.py fsdp2_prepare_model: 4-bit weights in integers stay whole.
void FullyShard::ignore_integers() {
  for (const nn::NamedTensor& parameter : nn::named_parameters(model_)) {
    if (!is_floating_point(parameter.tensor.dtype())) {
      managed_.insert(parameter.tensor.get());
    }
  }
}

// What describes codes of 4 bits is no parameter.
void FullyShard::bring_states_of(const std::vector<Tensor>& params) const {
  for (const Tensor& parameter : params) {
    if (const auto found = packed_.find(parameter.get()); found != packed_.end()) {
      found->second->bring_state_to_cuda();
    }
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
    shard({ends.embedding}, place, reshard_if(reshard != Reshard::never));
  }
  nn::Module* const norm = hides_norm(model_) ? nullptr : ends.final_norm;
  std::vector<nn::Module*> tail{norm, is_tied ? ends.embedding : nullptr, ends.head};
  std::erase(tail, nullptr);
  if (!tail.empty()) {
    shard(tail, place, reshard_if(reshard == Reshard::all));
  }
}

// Of several modules, the first names the unit.
void FullyShard::shard(const std::vector<nn::Module*>& modules, ShardPlace place,
                       AfterUse after_forward) {
  const nn::InModule scope(*modules.front());
  ManagedStates managed;
  for (nn::Module* module : modules) {
    collect_states(*module, managed_, managed);
  }
  move_states_to_device(managed);
  bring_states_of(managed.params);
  if (references_) {
    references_->keep_ends(managed.params);
  }
  FsdpState& state = *shared_.states.emplace_back(
      std::make_unique<FsdpState>(shared_, managed.params, place, after_forward));
  for (FsdpParam& param : state.group().params()) {
    param_of_.emplace(param.unsharded().get(), &param);
    resharding_.add(param.sharded(), param.unsharded().size(0));
  }
  for (nn::Module* module : modules) {
    state_of_.emplace(module, &state);
    module->set_sharded_unit(&state);
  }
  if (modules.front() != &model_) {
    hook_into(state, modules);
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

models::Outputs FullyShard::forward(models::Inputs inputs) {
  FsdpState& root = *shared_.states.front();
  root.pre_forward({&inputs.hidden_states, 1});
  models::Outputs outputs = model_.forward(std::move(inputs));
  std::vector<Tensor> results{outputs.loss, outputs.logits, outputs.hidden_states};
  results.insert(results.end(), outputs.logit_chunks.begin(), outputs.logit_chunks.end());
  results.insert(results.end(),
                 {outputs.encoder_states, outputs.scores.log_probs, outputs.scores.entropy});
  root.post_forward(results);
  results.clear();
  cast_outputs(outputs);
  return outputs;
}

// _fsdp_state.py _cast_output_dtype. accelerate 1.15, utils/dataclasses.py set_mixed_precision:
// output_dtype as param_dtype.
void FullyShard::cast_outputs(models::Outputs& outputs) const {
  const TrainingPlan& plan = model_.context().plan;
  if (!runs_accelerate(plan.framework) || !plan.parallel.fsdp.param_dtype) {
    return;
  }
  for (Tensor* output : {&outputs.loss, &outputs.logits, &outputs.encoder_states,
                         &outputs.scores.log_probs, &outputs.scores.entropy}) {
    if (output->defined()) {
      *output = eager::to_dtype(*output, *plan.parallel.fsdp.param_dtype);
    }
  }
}

// run_post_backward in stage.py. The callback at the end of each backward finds that it was not the
// last, so reductions are waited for in the next step only.
void FullyShard::stage_backward(int /*chunk*/, BackwardPass pass,
                                const std::function<void()>& backward) {
  shared_.context.set_pass(BackwardPass::earlier);
  backward();
  if (pass != BackwardPass::last) {
    return;
  }
  shared_.context.set_pass(BackwardPass::last);
  for (const auto& state : shared_.states) {
    if (state->has_group()) {
      state->group().post_backward();
    }
  }
}

std::vector<Tensor> FullyShard::parameters() const {
  std::vector<Tensor> shards;
  for (const nn::NamedTensor& entry : nn::named_parameters(model_)) {
    const auto found = param_of_.find(entry.tensor.get());
    if (found != param_of_.end() && found->second->sharded().requires_grad()) {
      shards.push_back(found->second->sharded());
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
