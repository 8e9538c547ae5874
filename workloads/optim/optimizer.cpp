#include "workloads/optim/optimizer.hpp"

#include "workloads/eager/ops.hpp"
#include "workloads/eager/runtime.hpp"

namespace highwater {

namespace {

using eager::Tensor;
using optim::Path;
using optim::Slot;
using optim::Slots;

bool is_on_host(const std::vector<std::vector<Tensor>>& groups) {
  return !groups.empty() && !groups.front().empty() &&
         groups.front().front().place() == eager::Place::host;
}

// What torch picks: foreach on CUDA if neither flag is given, but Adafactor loops
// (_default_to_fused_or_foreach).
Path path_of(const Optimizer& choice, bool is_on_host) {
  switch (choice.impl) {
    case OptimizerImpl::foreach:
      return Path::foreach;
    case OptimizerImpl::fused:
      return Path::fused;
    case OptimizerImpl::loop:
      return Path::loop;
    case OptimizerImpl::deepspeed:
      return Path::deepspeed;
    case OptimizerImpl::standard:
      return choice.kind == OptimizerKind::adafactor || is_on_host ? Path::loop : Path::foreach;
  }
  return Path::foreach;
}

bool group_decays(const highwater::Optimizer& choice, OptimizerKind kind, std::size_t index) {
  return choice.param_groups == 2 ? index == 0
                                  : kind == OptimizerKind::adamw || choice.weight_decay > 0;
}

std::pair<std::vector<Tensor>, std::vector<Tensor>> split_by_target(
    const std::vector<std::vector<Tensor>>& groups) {
  std::pair<std::vector<Tensor>, std::vector<Tensor>> split;
  for (const auto& group : groups) {
    for (const Tensor& param : group) {
      (param->is_target ? split.first : split.second).push_back(param);
    }
  }
  return split;
}

template <class Groups, class Function>
void for_each_slot(Groups& groups, Function function) {
  for (auto& group : groups) {
    for (Slot& slot : group.slots) {
      function(slot);
    }
  }
}

Tensor make_master(const Tensor& param) {
  const Tensor copy = optim::make_like("clone", param);
  Tensor master = optim::make_like("to", copy, DType::fp32);
  param.runtime().categorize(master, Category::optimizer_state);
  return master;
}

// master.grad = model.grad.float(); model.grad = None
void cast_gradient(Slot& slot) {
  if (slot.model.defined() && slot.model->grad.defined()) {
    slot.param->grad = optim::make_like("to", slot.model->grad, DType::fp32);
    slot.param.runtime().categorize(slot.param->grad, Category::gradient);
    slot.model->grad.reset();
  }
}

}  // namespace

OptimizerRun::OptimizerRun(eager::Runtime& runtime, const Optimizer& choice,
                           const std::vector<std::vector<Tensor>>& groups,
                           const optim::Resharding* resharding)
    : runtime_(runtime),
      choice_(choice),
      resharding_(resharding),
      path_(path_of(choice, is_on_host(groups))) {
  if (choice.kind == OptimizerKind::none) {
    choice_.in_backward = choice_.master_weights = false;
  }
  make_instances(groups);
  for (auto& instance : instances_) {
    make_masters(instance);
    make_early_state(instance);
  }
  if (choice_.in_backward) {
    hook_into_backward();
  }
  if (updates_by_hooks(choice_.kind)) {
    hook_into_gradients();
  }
}

OptimizerRun::~OptimizerRun() {
  for (const auto& node : hooked_) {
    node->post_hook = nullptr;
    if (updates_by_hooks(choice_.kind)) {
      node->pre_hooks.clear();
    }
  }
}

OptimizerRun::Instance OptimizerRun::make_instance(
    OptimizerKind kind, const std::vector<std::vector<Tensor>>& groups) const {
  Instance instance{.kind = kind, .groups = {}, .steps = 0, .maps = {}};
  for (std::size_t i = 0; i < groups.size(); ++i) {
    Group& group = instance.groups.emplace_back();
    group.decays = group_decays(choice_, kind, i);
    for (const Tensor& param : groups[i]) {
      group.slots.push_back({.param = param, .model = {}, .state = {}, .is_initialized = false});
    }
  }
  return instance;
}

// One object with all groups, or one object for each parameter.
void OptimizerRun::make_instances(const std::vector<std::vector<Tensor>>& given) {
  if (has_targets(choice_.kind)) {
    return make_instances_of_targets(given);
  }
  if (!choice_.in_backward) {
    instances_.push_back(make_instance(choice_.kind, given));
    return;
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    for (const Tensor& param : given[i]) {
      instances_.push_back(make_instance(choice_.kind, {{param}}));
      instances_.back().groups.front().decays = group_decays(choice_, choice_.kind, i);
    }
  }
}

void OptimizerRun::make_instances_of_targets(const std::vector<std::vector<Tensor>>& given) {
  const auto [targets, others] = split_by_target(given);
  if (choice_.kind == OptimizerKind::muon) {
    instances_.push_back(make_instance(OptimizerKind::muon, {targets}));
    instances_.push_back(make_instance(OptimizerKind::adamw, {others}));
  } else if (!choice_.in_backward) {
    instances_.push_back(make_instance(choice_.kind, {others, targets}));
  } else {
    for (const auto* params : {&others, &targets}) {
      for (const Tensor& param : *params) {
        instances_.push_back(make_instance(choice_.kind, {{param}}));
      }
    }
  }
}

void OptimizerRun::make_masters(Instance& instance) {
  if (!choice_.master_weights) {
    return;
  }
  for_each_slot(instance.groups, [](Slot& slot) {
    if (is_low_precision(slot.param.dtype())) {
      slot.model = slot.param;
      slot.param = make_master(slot.model);
    }
  });
}

void OptimizerRun::make_early_state(Instance& instance) {
  if (instance.kind == OptimizerKind::adagrad) {
    for_each_slot(instance.groups, optim::adagrad_init);
  }
  if (instance.kind == OptimizerKind::adalomo) {
    for_each_slot(instance.groups, optim::adalomo_init);
  }
}

void OptimizerRun::hook_into_backward() {
  eager::Scoped<bool> grad_mode(runtime_.grad_enabled, true);
  for (auto& instance : instances_) {
    const Slot& slot = instance.groups.front().slots.front();
    const Tensor& leaf = slot.model.defined() ? slot.model : slot.param;
    hooked_.push_back(eager::gradient_node(runtime_, leaf));
    hooked_.back()->post_hook = [this, &instance](Tensor&) {
      step(instance);
      zero_grad(instance, optim::ZeroGrad::to_none);
    };
  }
}

// Tensor.register_hook: the hook of each parameter looks at all of them.
void OptimizerRun::hook_into_gradients() {
  const eager::Scoped<bool> grad_mode(runtime_.grad_enabled, true);
  for_each_slot(instances_.front().groups, [this](const Slot& slot) {
    hooked_.push_back(eager::gradient_node(runtime_, slot.param));
    hooked_.back()->pre_hooks.emplace_back([this] { finish_backward(); });
  });
}

Tensor OptimizerRun::scaled(const Tensor& loss) const {
  constexpr double kLossScale = 1024;  // AdaLomo.__init__: loss_scale
  return choice_.kind == OptimizerKind::adalomo ? eager::mul(loss, kLossScale) : loss;
}

void OptimizerRun::finish_backward() {
  if (updates_by_hooks(choice_.kind)) {
    step(instances_.front());
  }
}

void OptimizerRun::step() {
  if (!choice_.in_backward && !updates_by_hooks(choice_.kind) &&
      choice_.kind != OptimizerKind::none) {
    for (auto& instance : instances_) {
      step(instance);
    }
  }
}

// Frame and list are variables of the Python method.
void OptimizerRun::step(Instance& instance) {
  const eager::NoGrad no_grad(runtime_);
  for_each_slot(instance.groups, cast_gradient);
  optim::Frame frame;
  optim::TensorVector kept_list;
  const optim::Update shared{.kind = instance.kind,
                             .runtime = &runtime_,
                             .path = path_,
                             .choice = &choice_,
                             .step = ++instance.steps,
                             .resharding = resharding_,
                             .maps = &instance.maps,
                             .frame = &frame,
                             .kept_list = &kept_list};
  for (auto& group : instance.groups) {
    update(shared, group);
  }
}

void OptimizerRun::update(optim::Update update, Group& group) {
  Slots slots;
  for (Slot& slot : group.slots) {
    if (slot.param->grad.defined()) {
      slots.push_back(&slot);
    }
  }
  update.decays = group.decays;
  if (const optim::Algorithm algorithm = optim::algorithm_of(update.kind)) {
    algorithm(update, slots);
  }
}

void OptimizerRun::zero_grad(optim::ZeroGrad how) {
  for (auto& instance : instances_) {
    if (choice_.kind == OptimizerKind::muon && &instance != &instances_.front()) {
      runtime_.mark_phase("zero_grad");  // a script zeroes each optimizer in a call of its own
    }
    zero_grad(instance, how);
  }
}

// Zeroing is in place (grad.zero_() or _foreach_zero_).
void OptimizerRun::zero_grad(Instance& instance, optim::ZeroGrad how) {
  if (how == optim::ZeroGrad::to_none) {
    for_each_slot(instance.groups, [](Slot& slot) { slot.param->grad.reset(); });
    return;
  }
  const bool zeroes_lists =
      choice_.impl == OptimizerImpl::foreach || choice_.impl == OptimizerImpl::fused;
  Slots slots;
  for_each_slot(instance.groups, [&](Slot& slot) {
    if (zeroes_lists && slot.param->grad.defined()) {
      slots.push_back(&slot);
    }
  });
  optim::summed_grads(slots);  // _foreach_zero_ of DTensors
}

}  // namespace highwater
