// What the update rules share.
#include "workloads/optim/algorithms.hpp"

#include <algorithm>
#include <array>

#include "workloads/eager/ops.hpp"
#include "workloads/kernels/foreach.hpp"

namespace highwater::optim {

namespace {

struct Rule {
  OptimizerKind kind;
  Algorithm algorithm;
};

constexpr std::array kRules{
    Rule{OptimizerKind::sgd, optim::sgd},
    Rule{OptimizerKind::sgd_momentum, optim::sgd},
    Rule{OptimizerKind::adam, optim::adam},
    Rule{OptimizerKind::adamw, optim::adamw},
    Rule{OptimizerKind::rmsprop, optim::rmsprop},
    Rule{OptimizerKind::adagrad, optim::adagrad},
    Rule{OptimizerKind::adafactor, optim::adafactor},
    Rule{OptimizerKind::nadam, optim::nadam},
    Rule{OptimizerKind::radam, optim::radam},
    Rule{OptimizerKind::adamax, optim::adamax},
    Rule{OptimizerKind::adadelta, optim::adadelta},
    Rule{OptimizerKind::asgd, optim::asgd},
    Rule{OptimizerKind::rprop, optim::rprop},
    Rule{OptimizerKind::muon, optim::muon},
    Rule{OptimizerKind::adafactor_hf, optim::adafactor_hf},
    Rule{OptimizerKind::lion, optim::lion},
    Rule{OptimizerKind::stable_adamw, optim::stable_adamw},
    Rule{OptimizerKind::schedule_free_adamw, optim::schedule_free_adamw},
    Rule{OptimizerKind::schedule_free_radam, optim::schedule_free_radam},
    Rule{OptimizerKind::schedule_free_sgd, optim::schedule_free_sgd},
    Rule{OptimizerKind::galore_adamw, optim::galore_adamw},
    Rule{OptimizerKind::galore_adamw_8bit, optim::galore_adamw_8bit},
    Rule{OptimizerKind::galore_adafactor, optim::adafactor_hf},
    Rule{OptimizerKind::apollo_adamw, optim::apollo_adamw},
    Rule{OptimizerKind::came, optim::came},
    Rule{OptimizerKind::grokadamw, optim::grokadamw},
    Rule{OptimizerKind::lomo, optim::lomo},
    Rule{OptimizerKind::adalomo, optim::adalomo},
    Rule{OptimizerKind::adamw_torch_8bit, torchao},
    Rule{OptimizerKind::adamw_torch_4bit, torchao},
    Rule{OptimizerKind::adamw_torch_fp8, torchao},
    Rule{OptimizerKind::adamw_cpu_offload, adamw_on_host},
};

}  // namespace

Algorithm algorithm_of(OptimizerKind kind) {
  if (library_of(kind) == OptimizerLibrary::bitsandbytes) {
    return bitsandbytes;
  }
  const auto* const found = std::ranges::find(kRules, kind, &Rule::kind);
  return found == kRules.end() ? nullptr : found->algorithm;
}

void add_state(Slot& slot, Tensor tensor) {
  if (tensor.defined()) {
    tensor.runtime().categorize(tensor, Category::optimizer_state);
  }
  slot.state.push_back(std::move(tensor));
}

std::vector<Slots> by_dtype(const Slots& slots) {
  std::vector<Tensor> params;
  for (const Slot* slot : slots) {
    params.push_back(slot->param);
  }
  std::vector<Slots> groups;
  for (const DType dtype : dtype_groups(params)) {
    Slots& group = groups.emplace_back();
    for (Slot* slot : slots) {
      if (slot->param.dtype() == dtype) {
        group.push_back(slot);
      }
    }
  }
  return groups;
}

void launch_foreach(const Slots& slots, int most_tensors) {
  std::vector<std::int64_t> numels;
  for (const Slot* slot : slots) {
    numels.push_back(slot->param.numel());
  }
  if (!slots.empty()) {
    slots.front()->param.runtime().launch(foreach_kernels(numels, most_tensors));
  }
}

namespace {

constexpr int kMostTensorsOfTwoLists = 64;

// All results exist before the first kernel.
Tensor result_like(const char* op, const Tensor& like) {
  const eager::OpScope scope(like.runtime(), op, 0);
  return eager::empty_like(like);
}

}  // namespace

TensorVector foreach_grads(const char* op, const Slots& slots) {
  TensorVector results;
  for (const Slot* slot : slots) {
    results.push_back(result_like(op, slot->param->grad));
  }
  launch_foreach(slots, kMostTensorsOfTwoLists);
  return results;
}

TensorVector foreach_state(const char* op, const Slots& slots, std::size_t index) {
  TensorVector results;
  for (const Slot* slot : slots) {
    results.push_back(result_like(op, slot->state[index]));
  }
  launch_foreach(slots, kMostTensorsOfTwoLists);
  return results;
}

}  // namespace highwater::optim
