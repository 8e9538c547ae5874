// The repeated blocks of a model, which wrapping policies treat as units.
#pragma once

#include <vector>

#include "workloads/nn/module.hpp"

namespace highwater::nn {

/// Every module of the class whose instances fill the model's longest nn.ModuleList (the first of
/// equal ones), in the order of modules(): what transformer_auto_wrap_policy finds for that class
/// (torch/distributed/fsdp/wrap.py). Empty for a model without such a list.
std::vector<Module*> transformer_blocks(Module& root);

}  // namespace highwater::nn
