// The repeated blocks of a model, as scripts find them to wrap each one.
#pragma once

#include <vector>

#include "workloads/nn/module.hpp"

namespace highwater::nn {

/// The members of the longest nn.ModuleList of the model, in order; of two lists of one length
/// those of the first.
std::vector<Module*> block_modules(Module& root);

}  // namespace highwater::nn
