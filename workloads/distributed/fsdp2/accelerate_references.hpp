// What accelerate holds while it applies fully_shard to a model, and what that keeps alive.
//
// Source: accelerate 1.15, accelerator.py _prepare_fsdp2 and utils/fsdp_utils.py
// fsdp2_prepare_model: original_sd, input_weight and output_weight are bound until the latter
// returns, and with them what was sharded. Blocks of a model on the host are not counted here.
#pragma once

#include "workloads/nn/module.hpp"

namespace highwater::dist {

class AccelerateReferences {
 public:
  /// Before `model` is sharded. Of one on the device, a number is put in the place of each of the
  /// optimizer's parameters.
  explicit AccelerateReferences(nn::Module& model);

  /// Of a model on the device.
  void take_state_dict();

  /// `params` are on the device now and are sharded next; the embedding's and the head's are kept.
  void keep_ends(const std::vector<eager::Tensor>& params);

  /// Both functions return.
  void release();

 private:
  nn::Module& model_;
  eager::TensorList placeholders_;  ///< of the optimizer's parameters
  eager::TensorList state_dict_;
  eager::TensorList ends_;
  eager::Tensor last_trained_;  ///< the loop's variable
};

}  // namespace highwater::dist
