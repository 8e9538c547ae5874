// The repeated blocks of a model, which scripts and wrapping policies treat as units.
//
// The recordings' loop calls fully_shard on each block of one list; other scripts and wrapping
// policies go by class, so they find the blocks of every list of that class (T5's encoder and
// decoder).
#pragma once

#include <vector>

#include "workloads/nn/module.hpp"

namespace highwater::nn {

/// The members of the model's longest nn.ModuleList that is in no other one, in order; of two lists
/// of equal length, those of the first. Empty for a model without such a list.
std::vector<Module*> block_modules(Module& root);

/// Every module of the class of block_modules(), in the order of modules(): what
/// transformer_auto_wrap_policy finds for that class (torch/distributed/fsdp/wrap.py).
std::vector<Module*> transformer_blocks(Module& root);

/// A list of blocks and the last norm beside it, null where there is none.
struct BlockStack {
  Module* list = nullptr;
  std::vector<Module*> blocks;
  Module* final_norm = nullptr;
};

/// All lists of blocks that are in no other one: an encoder-decoder has two.
std::vector<BlockStack> block_stacks(Module& root);

/// What stands around a decoder's blocks; null where the model has none.
struct ModelEnds {
  Module* embedding = nullptr;   ///< get_input_embeddings()
  Module* final_norm = nullptr;  ///< the last norm beside the list of blocks
  Module* head = nullptr;        ///< get_output_embeddings()
};

ModelEnds model_ends(Module& root);

}  // namespace highwater::nn
