// How a model that fully_shard was applied to on meta gets its blocks: by to_empty(), or from a
// state dict that lies on the host.
#include "workloads/distributed/fsdp2/fully_shard.hpp"
#include "workloads/plan/lora_targets.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::dist {

using eager::Runtime;

namespace {

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

}  // namespace

void FullyShard::fill(ShardPlace place, ModelOrder order) {
  if (loads_checkpoint(model_.context().plan.framework)) {
    load_full_state_dict(place);
    return;
  }
  if (order == ModelOrder::first && !shared_.context.offload_to_cpu) {  // to_empty(device="cpu")
    start_fake_tensors(model_.runtime());
  }
  to_empty(model_);
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
// the whole checkpoint on its host, and adapters, which it lacks, and buffers were made before
// (recipes/lora_finetune_distributed.py _setup_model).
void FullyShard::load_full_state_dict(ShardPlace place) {
  const bool has_checkpoint = model_.context().plan.framework == Framework::torchtune;
  if (has_checkpoint && builds_adapters(model_.context().plan)) {
    make_adapters(model_);
  }
  model_.init_buffers();
  FullStateDict loaded({.ranks = place.ranks, .rank = has_checkpoint ? 0 : place.rank},
                       has_checkpoint ? SharesOnGpu::go_if_offloaded : SharesOnGpu::stay);
  load(model_, loaded);
  loaded.release_whole();
  move_buffers(model_);
}

bool FullyShard::is_of_adapter(const eager::Tensor& parameter) const {
  const TrainingPlan& plan = model_.context().plan;
  return plan.lora.rank > 0 && builds_adapters(plan) && parameter.requires_grad();
}

// AdapterModule.to_empty().
void FullyShard::make_adapters(nn::Module& module) {
  const nn::InModule scope(module);
  for (const nn::NamedTensor& own : module.own_parameters()) {
    if (own.tensor.defined() && is_of_adapter(own.tensor)) {
      param_of_.at(own.tensor.get())->to_empty();
      param_of_.at(own.tensor.get())->reset_sharded_param();
    }
  }
  for (nn::Module* child : module.children()) {
    make_adapters(*child);
  }
}

// state_dict(): a module's own parameters, then its children's.
void FullyShard::load(nn::Module& module, FullStateDict& loaded) {
  const nn::InModule scope(module);
  auto* const linear = dynamic_cast<nn::Linear*>(&module);
  if (linear != nullptr && linear->quantized() != nullptr) {
    load_quantized(*linear, loaded);
  } else {
    load_own(module, loaded);
  }
  for (nn::Module* child : module.children()) {
    load(*child, loaded);
  }
}

void FullyShard::load_own(nn::Module& module, FullStateDict& loaded) {
  for (const nn::NamedTensor& own : module.own_parameters()) {
    if (own.tensor.defined() && !is_of_adapter(own.tensor)) {
      loaded.load(*param_of_.at(own.tensor.get()));
    }
  }
}

// Parts of the weight, and a bias.
void FullyShard::load_quantized(nn::Linear& linear, FullStateDict& loaded) {
  std::vector<FsdpParam*> parts;
  for (const nn::NamedTensor& own : linear.own_parameters()) {
    if (own.tensor.defined() && own.name.starts_with("weight")) {
      parts.push_back(param_of_.at(own.tensor.get()));
    }
  }
  loaded.load(parts, *linear.quantized());
  if (linear.bias.defined()) {
    loaded.load(*param_of_.at(linear.bias.get()));
  }
}

}  // namespace highwater::dist
