#include "workloads/distributed/fsdp1/wrapped_modules.hpp"

#include <algorithm>

#include "workloads/nn/blocks.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::dist {
namespace {

bool is_trained_leaf(nn::Module& module) {
  return module.children().empty() && !module.own_parameters().empty() &&
         module.own_parameters().front().tensor.requires_grad();
}

class WrapPolicy {
 public:
  explicit WrapPolicy(nn::Module& root)
      : blocks_(nn::transformer_blocks(root)),
        wraps_adapters_(root.context().plan.parallel.fsdp.units == FsdpUnits::adapters) {
    visit(root);
  }

  std::vector<nn::Module*> wrapped;

 private:
  void visit(nn::Module& module) {
    for (nn::Module* child : module.children()) {
      visit(*child);
      if (std::ranges::find(blocks_, child) != blocks_.end() ||
          (wraps_adapters_ && is_trained_leaf(*child))) {
        wrapped.push_back(child);
      }
    }
  }

  std::vector<nn::Module*> blocks_;
  bool wraps_adapters_;
};

}  // namespace

std::vector<nn::Module*> wrapped_modules(nn::Module& root) {
  return WrapPolicy(root).wrapped;
}

}  // namespace highwater::dist
