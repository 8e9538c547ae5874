// The order in which from_pretrained() loads the weights of a checkpoint: by their names, numbers
// in them as numbers (transformers 5.23, core_model_loading.py dot_natural_key).
#pragma once

#include <string>
#include <vector>

#include "workloads/nn/layers.hpp"

namespace highwater::nn {

/// A parameter, and what the checkpoint's files have of it.
struct CheckpointEntry {
  std::string name;  ///< in the files, of the first tensor that it is made of
  Tensor tensor;
  Linear* quantizable = nullptr;  ///< whose weight it is, if that is quantised
  /// Matrices of each expert in the files, if it holds those of all experts (conversion_mapping.py:
  /// mixtral, qwen2_moe); 0: the files have it as it is.
  int matrices_of_expert = 0;
};

/// The parameters of `root`, tied ones once. The weights of linear layers are quantised, but the
/// output embedding's, a child of the model itself (quantizers/base.py get_keys_to_not_convert),
/// and those that the checkpoint's quantization_config leaves out.
std::vector<CheckpointEntry> checkpoint_entries(Module& root);

/// Whether a checkpoint's weight `a` is loaded before `b`.
bool is_loaded_before(const std::string& a, const std::string& b);

}  // namespace highwater::nn
