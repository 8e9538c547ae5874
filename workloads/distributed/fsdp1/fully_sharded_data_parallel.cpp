#include "workloads/distributed/fsdp1/fully_sharded_data_parallel.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "workloads/distributed/broadcast_coalesced.hpp"
#include "workloads/distributed/fsdp1/wrapped_modules.hpp"
#include "workloads/plan/offload.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::dist {

using eager::NoGrad;
using eager::Tensor;

namespace {

constexpr StreamId kDefaultStream{0U};

int shard_ranks(const Parallelism& plan) {
  const bool is_hybrid = plan.fsdp.strategy == ShardingStrategy::hybrid_shard;
  return is_hybrid ? plan.dp / plan.fsdp.replicas : plan.dp;
}

std::vector<Tensor> tensors_of(const models::Outputs& outputs) {
  std::vector<Tensor> tensors{outputs.loss, outputs.logits, outputs.encoder_states,
                              outputs.scores.log_probs, outputs.scores.entropy};
  tensors.insert(tensors.end(), outputs.logit_chunks.begin(), outputs.logit_chunks.end());
  return tensors;
}

// _move_module_to_device in fsdp/_init_utils.py: breadth first, without nested units, parameters
// before buffers.
void move_to_device(nn::Module& unit) {
  std::vector<nn::Module*> modules{&unit};
  for (std::size_t i = 0; i < modules.size(); ++i) {
    std::ranges::copy_if(modules[i]->children(), std::back_inserter(modules),
                         [](const nn::Module* child) { return !child->is_wrapped(); });
  }
  for (nn::Module* module : modules) {
    nn::move_own_parameters_to_cuda(*module);
  }
  for (nn::Module* module : modules) {
    nn::move_buffers_to_cuda(*module);
  }
}

}  // namespace

/// FSDP(block): its forward surrounds the block's call.
class FullyShardedDataParallel::UnitHooks : public nn::ForwardHooks {
 public:
  UnitHooks(FullyShardedDataParallel& owner, Unit& unit) : owner_(owner), unit_(unit) {}

  void before(std::span<Tensor> arguments) override { owner_.pre_forward(unit_, arguments); }

  void after(std::span<const Tensor> /*arguments*/, std::span<Tensor> results) override {
    owner_.post_forward(unit_, results);
  }

 private:
  FullyShardedDataParallel& owner_;
  Unit& unit_;
};

FullyShardedDataParallel::FullyShardedDataParallel(models::LanguageModel& model,
                                                   const Parallelism& plan)
    : model_(model),
      runtime_(model.runtime()),
      plan_(plan.fsdp),
      offload_params_(offloads_params(plan)),
      rank_(rank_place(plan).dp % shard_ranks(plan)),
      shards_(runtime_, shard_ranks(plan), plan.backend) {
  if (plan.fsdp.strategy == ShardingStrategy::hybrid_shard) {
    replicas_.emplace(runtime_, plan.fsdp.replicas, plan.backend);
  }
  runtime_.counts_host_memory |= offload_params_;
  FlattenedParams flattened;
  for (nn::Module* module : wrapped_modules(model)) {
    add_unit(*module, flattened);
  }
  for (const auto& unit : units_) {
    unit->module->set_wrapper(std::make_shared<UnitHooks>(*this, *unit));
  }
  add_unit(model, flattened);
  units_.back()->is_root = true;
  sort_units();
  if (runs_accelerate(model.context().plan.framework) && plan_.param_dtype) {
    for (const auto& unit : units_) {
      unit->handle->upcast();
    }
  }
}

// _get_fsdp_states_with_modules: a module comes before its children.
void FullyShardedDataParallel::sort_units() {
  std::vector<const nn::Module*> order;
  const auto visit = [&](auto& self, const nn::Module& module) -> void {
    order.push_back(&module);
    for (const nn::Module* child : module.children()) {
      self(self, *child);
    }
  };
  visit(visit, model_);
  std::ranges::sort(units_, {}, [&order](const std::unique_ptr<Unit>& unit) {
    return std::ranges::find(order, unit->module) - order.begin();
  });
}

FullyShardedDataParallel::~FullyShardedDataParallel() {
  for (const auto& unit : units_) {
    for (const auto& node : unit->hooked) {
      node->post_hook = nullptr;
    }
  }
}

void FullyShardedDataParallel::add_unit(nn::Module& module, FlattenedParams& flattened) {
  move_to_device(module);
  if (runs_trainer(model_.context().plan.framework)) {
    sync_states(module, flattened);
  }
  Unit& unit = *units_.emplace_back(std::make_unique<Unit>());
  unit.module = &module;
  unit.handle =
      std::make_unique<FlatParamHandle>(module, flattened, shards_, rank_, plan_, offload_params_);
}

// sync_module_states=True (transformers 5.23, training_args.py _process_fsdp_args): buffers that no
// unit before has sent, and what the unit is about to flatten.
void FullyShardedDataParallel::sync_states(nn::Module& module, const FlattenedParams& flattened) {
  std::vector<Tensor> states;
  for (const auto& entry : nn::named_buffers(module)) {
    if (synced_buffers_.insert(entry.tensor.get()).second) {
      states.push_back(entry.tensor);
    }
  }
  for (const auto& entry : nn::named_parameters(module)) {
    if (!flattened.contains(entry.tensor.get())) {
      states.push_back(eager::detach(entry.tensor));
    }
  }
  broadcast_coalesced(shards_, states);
}

std::vector<Tensor> FullyShardedDataParallel::parameters() const {
  if (plan_.use_orig_params) {
    return nn::trainable_parameters(model_);
  }
  std::vector<Tensor> flat;
  for (const auto& unit : units_) {
    flat.push_back(unit->handle->flat_param);
  }
  return flat;
}

models::Outputs FullyShardedDataParallel::forward(models::Inputs inputs) {
  Unit& root = *units_.front();
  lazy_init();
  root_pre_forward();
  pre_forward(root, {});
  models::Outputs outputs = model_.forward(std::move(inputs));
  post_forward(root, tensors_of(outputs));
  return outputs;
}

void FullyShardedDataParallel::lazy_init() {
  if (streams_) {
    return;
  }
  streams_ = {.unshard = runtime_.make_stream(),
              .post_backward = runtime_.make_stream(),
              .pre_unshard = runtime_.make_stream(),
              .all_reduce = replicas_ ? runtime_.make_stream() : kDefaultStream};
  cast_buffers();
  for (const auto& unit : units_) {
    unit->handle->init_attributes();
  }
}

// _get_buffers_and_dtypes_for_computation goes through the units from the last to the first.
void FullyShardedDataParallel::cast_buffers() {
  if (!plan_.param_dtype) {
    return;
  }
  const NoGrad no_grad(runtime_);
  for (auto unit = units_.rbegin(); unit != units_.rend(); ++unit) {
    for (const auto& buffer : nn::named_buffers(*(*unit)->module)) {
      if (is_floating_point(buffer.tensor.dtype())) {
        set_data(buffer.tensor, eager::to_dtype(eager::detach(buffer.tensor), *plan_.param_dtype));
        runtime_.categorize(buffer.tensor, Category::buffer);
      }
    }
  }
}

}  // namespace highwater::dist
