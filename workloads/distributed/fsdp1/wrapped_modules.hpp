// Which modules become FSDP1 units: transformer_auto_wrap_policy over the class of the model's
// blocks (PyTorch 2.6, torch/distributed/fsdp/wrap.py), or PEFT's fsdp_auto_wrap_policy, which
// takes the trained leaves in them as well (peft 0.21, utils/other.py).
#pragma once

#include <vector>

#include "workloads/nn/module.hpp"

namespace highwater::dist {

/// Below `root`, in the order in which _recursive_wrap wraps them: children before their module.
std::vector<nn::Module*> wrapped_modules(nn::Module& root);

}  // namespace highwater::dist
