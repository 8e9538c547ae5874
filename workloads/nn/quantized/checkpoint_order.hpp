// The order in which from_pretrained() loads the weights of a checkpoint: by their names, numbers
// in them as numbers (transformers 5.23, core_model_loading.py dot_natural_key).
#pragma once

#include <string>
#include <vector>

#include "workloads/nn/layers.hpp"

namespace highwater::nn {

struct CheckpointEntry {
  std::string name;
  Tensor tensor;
  Linear* quantizable = nullptr;  ///< whose weight it is, if that is quantised
};

/// The parameters of `root`, tied ones once. The weights of linear layers are quantised, but the
/// output embedding's, a child of the model itself (quantizers/base.py get_keys_to_not_convert).
std::vector<CheckpointEntry> checkpoint_entries(Module& root);

/// Whether a checkpoint's weight `a` is loaded before `b`.
bool is_loaded_before(const std::string& a, const std::string& b);

}  // namespace highwater::nn
