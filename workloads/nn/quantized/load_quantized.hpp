// from_pretrained(..., quantization_config=BitsAndBytesConfig(...)): weights come to the device one
// by one, in the order of their names, and are quantised before the next one comes.
//
// Mirrors transformers 5.23 (and 4.46.3, 4.57.1 where the text names them): modeling_utils.py
// (caching_allocator_warmup, _finalize_model_loading), core_model_loading.py
// convert_and_load_state_dict_in_model, integrations/bitsandbytes.py, quantizers/base.py
// get_keys_to_not_convert.
#pragma once

#include "workloads/nn/module.hpp"

namespace highwater::nn {

/// Brings a model that was made on the host to the device as the plan's quantisation says, or back
/// to the host weight by weight (returns_to_host), or leaves it there (quantizes_on_host).
void load_quantized(Module& root);

/// PEFT's prepare_model_for_kbit_training() (peft 0.21.2, utils/other.py), as far as it concerns
/// weights: 16-bit ones become fp32, and the cache is emptied.
void prepare_for_kbit_training(Module& root);

}  // namespace highwater::nn
